//! A plot of runs: one line per set and mode, the mean as a dot on its interval.

use std::fmt::Write as _;

use ibid_api::Mode;

use super::Run;

const LEFT: f64 = 190.0;
const WIDTH: f64 = 820.0;
const RIGHT: f64 = 130.0;
const TOP: f64 = 56.0;
const LINE: f64 = 20.0;
const GAP: f64 = 14.0;

/// Colours that keep apart for the colour-blind, on light and on dark ground.
const STYLE: &str = "\
svg{color-scheme:light dark;background:#fff}\
text{font:13px system-ui,sans-serif;fill:#1f2328}\
.faint{fill:#59636e}.grid{stroke:#d1d9e0}\
.lexical{stroke:#b35900;fill:#b35900}.embedding{stroke:#0969da;fill:#0969da}.hybrid{stroke:#1a7f37;fill:#1a7f37}\
@media(prefers-color-scheme:dark){svg{background:#0d1117}text{fill:#f0f6fc}.faint{fill:#9198a1}\
.grid{stroke:#3d444d}.lexical{stroke:#ffa657;fill:#ffa657}.embedding{stroke:#79c0ff;fill:#79c0ff}\
.hybrid{stroke:#7ee787;fill:#7ee787}}";

/// Draws nDCG@10 of every run as an SVG document.
pub fn plot(runs: &[Run]) -> String {
    let lowest = runs.iter().map(|run| run.summary.ndcg_low).fold(1.0, f64::min);
    // From a round tenth below everything that is shown.
    let start = ((lowest * 10.0).floor() / 10.0).clamp(0.0, 0.9);
    let at = |value: f64| LEFT + (value - start) / (1.0 - start) * (WIDTH - LEFT - RIGHT);
    let groups: Vec<&[Run]> = runs.chunk_by(|a, b| a.set == b.set).collect();
    let height = TOP + runs.len() as f64 * LINE + groups.len() as f64 * GAP + 12.0;
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" role=\"img\" \
         aria-label=\"nDCG@10 of each set and mode\">\n<style>{STYLE}</style>\n\
         <text x=\"12\" y=\"24\">nDCG@10, with the bounds of 95 of 100 resamples</text>\n"
    );
    let steps = ((1.0 - start) * 10.0).round() as u32;
    for step in 0..=steps {
        let value = start + f64::from(step) / 10.0;
        let _ = writeln!(
            out,
            "<line class=\"grid\" x1=\"{x:.1}\" x2=\"{x:.1}\" y1=\"{y1}\" y2=\"{y2}\"/>\
             <text class=\"faint\" x=\"{x:.1}\" y=\"{label}\" text-anchor=\"middle\">{value:.1}</text>",
            x = at(value),
            y1 = TOP - 4.0,
            y2 = height - 8.0,
            label = TOP - 10.0,
        );
    }
    let mut y = TOP + GAP;
    for group in groups {
        let _ = writeln!(out, "<text x=\"12\" y=\"{:.1}\">{}</text>", y + 4.0, escaped(&group[0].set));
        for run in group {
            line(&mut out, run, y, at);
            y += LINE;
        }
        y += GAP;
    }
    out.push_str("</svg>\n");
    out
}

fn line(out: &mut String, run: &Run, y: f64, at: impl Fn(f64) -> f64) {
    let summary = &run.summary;
    let class = run.mode.as_str();
    let called = match run.mode {
        Mode::Lexical => "words",
        Mode::Embedding => "meaning",
        Mode::Hybrid => "hybrid",
    };
    let _ = writeln!(
        out,
        "<line class=\"{class}\" stroke-width=\"3\" stroke-opacity=\".45\" x1=\"{:.1}\" x2=\"{:.1}\" \
         y1=\"{y:.1}\" y2=\"{y:.1}\"/><circle class=\"{class}\" cx=\"{:.1}\" cy=\"{y:.1}\" r=\"4.5\"/>\
         <text x=\"{:.1}\" y=\"{:.1}\">{:.3} <tspan class=\"faint\">{called}</tspan></text>",
        at(summary.ndcg_low),
        at(summary.ndcg_high),
        at(summary.mean.ndcg_10),
        WIDTH - RIGHT + 14.0,
        y + 4.0,
        summary.mean.ndcg_10,
    );
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::{
        super::{Answer, Measures},
        *,
    };

    #[test]
    fn every_run_is_drawn_inside_the_picture_and_names_are_text() {
        let run = |mode, values: &[f64]| {
            let answer = |&ndcg_10: &f64| Answer {
                id: "q".into(),
                text: "?".into(),
                measures: Measures { ndcg_10, ..Measures::default() },
            };
            Run::new("a <b> & c", mode, values.iter().map(answer).collect())
        };
        let svg = plot(&[run(Mode::Lexical, &[0.4, 0.8]), run(Mode::Hybrid, &[1.0, 1.0])]);
        assert!(svg.contains("a &lt;b&gt; &amp; c") && !svg.contains("<b>"));
        assert_eq!(svg.matches("<circle").count(), 2);
        assert!(svg.contains("0.600 ") && svg.contains("1.000 "));
        for part in svg.split("cx=\"").skip(1) {
            let x: f64 = part.split('"').next().unwrap().parse().unwrap();
            assert!((LEFT..=WIDTH - RIGHT).contains(&x), "{x}");
        }
    }

    #[test]
    fn nothing_measured_is_an_empty_picture() {
        let svg = plot(&[]);
        assert!(svg.starts_with("<svg") && svg.ends_with("</svg>\n") && !svg.contains("<circle"));
    }
}
