//! How much each view of the words counts.

/// Factors on the scores of the views. They were chosen by measuring; evaluation may vary them.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Weights {
    /// Stems.
    pub stemmed: f32,
    /// Words as they are written.
    pub exact: f32,
    /// Pairs of neighbours.
    pub pairs: f32,
    /// Title, headings, aliases, tags and path.
    pub title: f32,
    /// Words that begin like the last one typed.
    pub prefix: f32,
    /// A phrase that was asked for.
    pub phrase: f32,
}

impl Default for Weights {
    fn default() -> Self {
        Self { stemmed: 1.0, exact: 0.5, pairs: 0.3, title: 1.0, prefix: 0.5, phrase: 1.0 }
    }
}
