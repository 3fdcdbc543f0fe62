//! One made page: frontmatter, headings, prose, lists, tables, code and links.

use std::fmt::Write as _;

use super::{
    Corpus,
    words::{Random, function_word},
};

/// A page of the corpus.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CorpusPage {
    /// Path below the root, with `/`.
    pub path: String,
    /// Its title, also in the text.
    pub title: String,
    /// Tags, also in the frontmatter.
    pub tags: Vec<String>,
    /// The whole file.
    pub text: String,
}

const TITLES: [(&str, &str); 8] = [
    ("", ""),
    ("", " reference"),
    ("Notes on ", ""),
    ("How ", " works"),
    ("Choosing ", ""),
    ("", " in practice"),
    ("Migrating ", ""),
    ("", " limits"),
];
const HEADINGS: [&str; 9] = [
    "Overview",
    "Configuration",
    "Examples",
    "Limits",
    "Troubleshooting",
    "History",
    "Open questions",
    "Before you start",
    "What changed",
];
const CODE_LANGUAGES: [&str; 4] = ["rust", "sh", "toml", "json"];

/// What the words of a page are drawn from.
struct Subject {
    /// The two words that name the page.
    pair: (usize, usize),
    /// Words of its topic, most used first.
    topic: Vec<usize>,
}

impl Corpus {
    /// Page `number`, the same each time; `revision` changes its text and keeps its name.
    pub fn page(&self, number: usize, revision: u64) -> CorpusPage {
        let mut random = self.page_random(number);
        let subject = self.subject(number);
        let title = self.title(number);
        let mut tags = vec![format!("area/{}", self.vocabulary.word(self.topic_name(self.topic_of(number))))];
        for (tag, share) in [("guide", 26), ("draft", 1), ("reviewed", 50)] {
            if random.chance(share) {
                tags.push(tag.to_owned());
            }
        }
        let mut text = String::with_capacity(self.shape.page_bytes() * 2);
        if random.chance(80) {
            let day = random.between(1, 29);
            let _ = write!(
                text,
                "---\ntitle: {title}\ntags: [{}]\ncreated: 20{:02}-{:02}-{day:02}\n",
                tags.join(", "),
                random.between(15, 26),
                random.between(1, 13),
            );
            if random.chance(20) {
                let alias = self.vocabulary.word(subject.topic[random.below(subject.topic.len())]);
                let _ = writeln!(text, "aliases:\n  - {alias} of {}", self.vocabulary.word(subject.pair.0));
            }
            text.push_str("---\n");
        } else {
            // A tag in the text counts as much as one in the frontmatter.
            let inline: Vec<String> = tags.iter().map(|tag| format!("#{tag}")).collect();
            let _ = writeln!(text, "{}\n", inline.join(" "));
        }
        let _ = writeln!(text, "# {title}\n");
        if revision > 0 {
            random = Random::new(&[self.seed, number as u64, revision]);
        }
        // Sizes vary as they do in life: most pages are short, a few are many times longer.
        let stretch = [0.4, 0.6, 0.8, 0.9, 1.0, 1.1, 1.3, 1.9][random.below(8)];
        let end = text.len() + (self.shape.page_bytes() as f64 * stretch) as usize;
        self.paragraphs(&mut text, &mut random, &subject, self.shape.section_bytes() / 2);
        while text.len() < end {
            self.section(&mut text, &mut random, &subject, number);
        }
        CorpusPage { path: self.path(number), title, tags, text }
    }

    fn page_random(&self, number: usize) -> Random {
        Random::new(&[self.seed, 2, number as u64])
    }

    fn topic_of(&self, number: usize) -> usize {
        number / self.shape.pages_per_topic()
    }

    fn topic_name(&self, topic: usize) -> usize {
        Random::new(&[self.seed, 3, topic as u64]).between(1_000, self.vocabulary.len())
    }

    fn pair(&self, number: usize) -> (usize, usize) {
        let mut random = Random::new(&[self.seed, 4, number as u64]);
        let last = self.vocabulary.len();
        (random.between(2_000, last), random.between(200, last / 4))
    }

    fn subject(&self, number: usize) -> Subject {
        let mut random = Random::new(&[self.seed, 5, self.topic_of(number) as u64]);
        let topic = (0..120).map(|_| 100 + random.zipf(self.vocabulary.len() - 100)).collect();
        Subject { pair: self.pair(number), topic }
    }

    fn title(&self, number: usize) -> String {
        let (rare, common) = self.pair(number);
        let (before, after) = TITLES[number % TITLES.len()];
        let name = format!("{before}{} {}{after}", self.vocabulary.word(rare), self.vocabulary.word(common));
        capitalised(&name)
    }

    /// Path of a page; folders of topics stand inside larger shelves: `shelf/topic/name-number.md`.
    pub fn path(&self, number: usize) -> String {
        let topic = self.topic_of(number);
        let (rare, common) = self.pair(number);
        format!(
            "shelf-{:03}/{}-{topic:04}/{}-{}-{number:06}.md",
            topic / super::TOPICS_PER_SHELF,
            self.vocabulary.word(self.topic_name(topic)),
            self.vocabulary.word(rare),
            self.vocabulary.word(common),
        )
    }

    fn section(&self, text: &mut String, random: &mut Random, subject: &Subject, number: usize) {
        let level = if random.chance(25) { "###" } else { "##" };
        if random.chance(55) {
            let first = capitalised(&self.content_word(random, subject));
            let second = self.content_word(random, subject);
            let joint = random.pick(&["and", "of", "with", "for"]);
            let _ = writeln!(text, "{level} {first} {joint} {second}\n");
        } else {
            let _ = writeln!(text, "{level} {}\n", random.pick(&HEADINGS));
        }
        let end = text.len() + (self.shape.section_bytes() as f64 * (0.5 + random.fraction())) as usize;
        while text.len() < end {
            match random.below(100) {
                0..64 => self.paragraphs(text, random, subject, 1),
                64..80 => self.list(text, random, subject),
                80..87 => self.code(text, random, subject),
                87..91 => self.table(text, random, subject),
                91..94 => {
                    let _ =
                        write!(text, "> [!note] {}\n> ", capitalised(&self.content_word(random, subject)));
                    self.sentence(text, random, subject);
                    text.push_str("\n\n");
                }
                _ => self.links(text, random, number),
            }
        }
    }

    fn paragraphs(&self, text: &mut String, random: &mut Random, subject: &Subject, bytes: usize) {
        let end = text.len() + bytes;
        while text.len() < end {
            for _ in 0..random.between(2, 6) {
                self.sentence(text, random, subject);
                text.push(' ');
            }
            text.pop();
            text.push_str("\n\n");
        }
    }

    fn sentence(&self, text: &mut String, random: &mut Random, subject: &Subject) {
        let words = random.between(7, 22);
        let mut last = String::new();
        for place in 0..words {
            let mut word = if random.chance(42) && place + 1 < words {
                function_word(random).to_owned()
            } else {
                self.content_word(random, subject)
            };
            if word == last {
                word = self.content_word(random, subject);
            }
            if place == 0 {
                text.push_str(&capitalised(&word));
            } else {
                text.push_str(if random.chance(5) { ", " } else { " " });
                match random.below(200) {
                    0..2 => {
                        let _ = write!(text, "`{word}`");
                    }
                    2 => {
                        let _ = write!(text, "**{word}**");
                    }
                    3 => {
                        let _ = write!(text, "{}", random.between(2, 9_000));
                    }
                    _ => text.push_str(&word),
                }
            }
            last = word;
        }
        text.push('.');
    }

    fn content_word(&self, random: &mut Random, subject: &Subject) -> String {
        let rank = match random.below(100) {
            0..55 => subject.topic[random.zipf(subject.topic.len())],
            55..62 => subject.pair.0,
            62..68 => subject.pair.1,
            _ => random.zipf(self.vocabulary.len()),
        };
        let word = self.vocabulary.word(rank);
        match random.below(100) {
            0..14 => format!("{word}s"),
            14..19 => format!("{word}ed"),
            19..24 => format!("{word}ing"),
            _ => word.to_owned(),
        }
    }

    fn list(&self, text: &mut String, random: &mut Random, subject: &Subject) {
        let numbered = random.chance(30);
        for item in 1..=random.between(3, 7) {
            if numbered {
                let _ = write!(text, "{item}. ");
            } else {
                text.push_str("- ");
            }
            self.sentence(text, random, subject);
            text.push('\n');
            if random.chance(12) {
                text.push_str("  - ");
                self.sentence(text, random, subject);
                text.push('\n');
            }
        }
        text.push('\n');
    }

    fn code(&self, text: &mut String, random: &mut Random, subject: &Subject) {
        let _ = writeln!(text, "```{}", random.pick(&CODE_LANGUAGES));
        for _ in 0..random.between(3, 10) {
            let first = self.content_word(random, subject);
            let second = self.content_word(random, subject);
            let third = self.content_word(random, subject);
            let _ = match random.below(4) {
                0 => writeln!(text, "let {first}_{second} = {third}({});", random.below(100)),
                1 => writeln!(text, "{first}.{second}{}(\"{third}\")", capitalised(&third)),
                2 => writeln!(text, "{first} --{second} /etc/{third}.conf"),
                _ => writeln!(text, "# {first} {second} {third}"),
            };
        }
        text.push_str("```\n\n");
    }

    fn table(&self, text: &mut String, random: &mut Random, subject: &Subject) {
        text.push_str("| name | value | meaning |\n| --- | --- | --- |\n");
        for _ in 0..random.between(3, 8) {
            let name = self.content_word(random, subject);
            let value = random.below(4_096);
            let _ = write!(text, "| `{name}` | {value} |");
            for _ in 0..4 {
                let _ = write!(text, " {}", self.content_word(random, subject));
            }
            text.push_str(" |\n");
        }
        text.push('\n');
    }

    fn links(&self, text: &mut String, random: &mut Random, number: usize) {
        text.push_str("See also ");
        for place in 0..random.between(1, 4) {
            if place > 0 {
                text.push_str(", ");
            }
            // Mostly neighbours of the same topic, sometimes any page.
            let span = self.shape.pages_per_topic();
            let other = if random.chance(80) {
                (number / span * span + random.below(span)).min(self.pages - 1)
            } else {
                random.below(self.pages)
            };
            let path = self.path(other);
            let stem = path.rsplit('/').next().unwrap_or(&path).trim_end_matches(".md");
            let _ = match random.below(3) {
                0 => write!(text, "[[{stem}]]"),
                1 => write!(text, "[[{stem}|{}]]", self.title(other)),
                _ => write!(text, "[{}](../../{path})", self.title(other)),
            };
        }
        text.push_str(".\n\n");
    }
}

fn capitalised(word: &str) -> String {
    let mut letters = word.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}
