//! Questions made from the documents themselves: does a page come first when a person asks for it by name?

use std::collections::{BTreeMap, HashMap};

use ibid_api::DocumentSummary;

use super::Question;

/// One question per title that names exactly one page, in a person's words.
pub fn title_questions(documents: &[DocumentSummary]) -> Vec<Question> {
    let mut titles: HashMap<String, Vec<&DocumentSummary>> = HashMap::new();
    for document in documents {
        // Titles that differ only in case and punctuation name the same thing to a person.
        let mut words = document.title.to_lowercase();
        words.retain(char::is_alphanumeric);
        titles.entry(words).or_default().push(document);
    }
    let mut questions: Vec<Question> = titles
        .into_values()
        .filter(|same| same.len() == 1 && same[0].chunk_count > 0)
        .filter(|same| same[0].title.chars().filter(|c| c.is_alphabetic()).count() >= 3)
        .map(|same| Question {
            id: same[0].path.to_string(),
            text: format!("how do I use {} and what does it do", same[0].title.trim()),
            grades: BTreeMap::from([(same[0].path.to_string(), 1)]),
        })
        .collect();
    questions.sort_by(|a, b| a.id.cmp(&b.id));
    questions
}
