//! Markdown to headings, blocks and references.

use std::ops::Range;

use ibid_api::Heading;
use pulldown_cmark::{Event, HeadingLevel, LinkType, Options, Parser, Tag, TagEnd};

use super::{
    Block, BlockKind,
    anchor::Anchors,
    language,
    links::{self, Reference},
};

/// Longest heading text that is kept: paths of headings are repeated in every chunk below them.
pub(super) const MAX_HEADING_BYTES: usize = 512;
/// Longest label of a link that is kept.
const MAX_LABEL_BYTES: usize = 256;

/// What the walk over a Markdown body gathers. All offsets count from the start of the whole text.
#[derive(Debug, Default)]
pub(super) struct Structure {
    pub(super) headings: Vec<Heading>,
    pub(super) heading_parents: Vec<Option<usize>>,
    pub(super) blocks: Vec<Block>,
    /// Targets of Markdown links and images.
    pub(super) references: Vec<Reference>,
    /// Code and HTML, in order of their starts: no wiki links and tags there.
    pub(super) verbatim: Vec<Range<usize>>,
    /// Markdown links, in order of their starts: no tags there.
    pub(super) linked: Vec<Range<usize>>,
    /// The first words of running text, to tell the language by.
    pub(super) prose: String,
}

/// Headings as they come, each with its parent, its anchor and its line.
#[derive(Debug, Default)]
pub(super) struct Outline {
    anchors: Anchors,
    /// Open headings, outermost first.
    open: Vec<usize>,
}

impl Outline {
    /// Adds a heading and gives its index.
    pub(super) fn push(&mut self, structure: &mut Structure, level: u8, text: String, line: u32) -> usize {
        let index = structure.headings.len();
        while let Some(&last) = self.open.last()
            && structure.headings[last].level >= level
        {
            self.open.pop();
        }
        structure.heading_parents.push(self.open.last().copied());
        self.open.push(index);
        let anchor = self.anchors.next(&text);
        structure.headings.push(Heading { level, text, anchor, line });
        index
    }
}

/// Takes the body of a Markdown text apart.
pub(super) fn read(text: &str, body_start: usize, line_starts: &[usize]) -> Structure {
    let options = Options::ENABLE_TABLES
        | Options::ENABLE_STRIKETHROUGH
        | Options::ENABLE_TASKLISTS
        | Options::ENABLE_FOOTNOTES;
    let mut reader = Reader {
        text,
        line_starts,
        structure: Structure::default(),
        outline: Outline::default(),
        depth: 0,
        in_list: false,
        code_depth: 0,
        heading: None,
        labels: Vec::new(),
        covered: body_start,
    };
    for (event, range) in Parser::new_ext(&text[body_start..], options).into_offset_iter() {
        reader.event(event, range.start + body_start..range.end + body_start);
    }
    reader.cover_up_to(text.len());
    reader.structure
}

struct Reader<'a> {
    text: &'a str,
    line_starts: &'a [usize],
    structure: Structure,
    outline: Outline,
    /// How many elements are open.
    depth: usize,
    /// Whether the outermost open element is a list, whose items are blocks.
    in_list: bool,
    /// How many code or HTML blocks are open: none or one.
    code_depth: usize,
    /// Level, block and text of the open heading.
    heading: Option<OpenHeading>,
    /// Open links and images, innermost last.
    labels: Vec<OpenLink<'a>>,
    /// Up to where blocks cover the text.
    covered: usize,
}

struct OpenHeading {
    level: HeadingLevel,
    block: usize,
    text: String,
}

struct OpenLink<'a> {
    destination: pulldown_cmark::CowStr<'a>,
    embed: bool,
    label: String,
    at: usize,
}

impl<'a> Reader<'a> {
    fn event(&mut self, event: Event<'a>, range: Range<usize>) {
        match event {
            Event::Start(tag) => {
                self.start(tag, range);
                self.depth += 1;
            }
            Event::End(tag) => {
                self.depth = self.depth.saturating_sub(1);
                self.end(tag);
            }
            Event::Text(words) => self.words(&words),
            Event::Code(words) => {
                self.structure.verbatim.push(range);
                if let Some(heading) = &mut self.heading {
                    push_up_to(&mut heading.text, &words, MAX_HEADING_BYTES);
                }
                if let Some(link) = self.labels.last_mut() {
                    push_up_to(&mut link.label, &words, MAX_LABEL_BYTES);
                }
            }
            Event::SoftBreak | Event::HardBreak => self.words(" "),
            Event::InlineHtml(_) | Event::InlineMath(_) | Event::DisplayMath(_) => {
                self.structure.verbatim.push(range);
            }
            Event::Rule => {
                if self.depth == 0 {
                    self.block(BlockKind::Other, range);
                }
            }
            // Its range is pushed when the block of HTML starts.
            Event::Html(_) | Event::FootnoteReference(_) | Event::TaskListMarker(_) => {}
        }
    }

    fn start(&mut self, tag: Tag<'a>, range: Range<usize>) {
        let outermost = self.depth == 0;
        match tag {
            Tag::Heading { level, .. } => {
                if outermost && let Some(block) = self.block(BlockKind::Other, range) {
                    self.heading = Some(OpenHeading { level, block, text: String::new() });
                }
            }
            Tag::CodeBlock(_) | Tag::HtmlBlock => {
                self.structure.verbatim.push(range.clone());
                self.code_depth += 1;
                if outermost {
                    let kind = if matches!(tag, Tag::HtmlBlock) { BlockKind::Other } else { BlockKind::Code };
                    self.block(kind, range);
                }
            }
            Tag::List(_) => {
                if outermost {
                    self.in_list = true;
                }
            }
            Tag::Item => {
                if self.in_list && self.depth == 1 {
                    self.block(BlockKind::ListItem, range);
                }
            }
            Tag::Table(_) => {
                if outermost {
                    self.block(BlockKind::Table, range);
                }
            }
            Tag::Link { link_type, dest_url, .. } => self.open_link(link_type, dest_url, false, range),
            Tag::Image { link_type, dest_url, .. } => self.open_link(link_type, dest_url, true, range),
            _ => {
                if outermost {
                    self.block(BlockKind::Paragraph, range);
                }
            }
        }
    }

    fn open_link(
        &mut self,
        link_type: LinkType,
        destination: pulldown_cmark::CowStr<'a>,
        embed: bool,
        range: Range<usize>,
    ) {
        // `[[name]]` is a wiki link even where `[name]` is defined.
        let is_wiki = matches!(link_type, LinkType::Shortcut)
            && self.text[..range.start].ends_with('[')
            && self.text[range.end..].starts_with(']');
        let destination = if is_wiki || link_type == LinkType::Email { "".into() } else { destination };
        if !is_wiki {
            self.structure.linked.push(range.clone());
        }
        self.labels.push(OpenLink { destination, embed, label: String::new(), at: range.start });
    }

    fn end(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::Heading(_) => self.close_heading(),
            TagEnd::CodeBlock | TagEnd::HtmlBlock => self.code_depth = self.code_depth.saturating_sub(1),
            TagEnd::List(_) if self.depth == 0 => {
                self.in_list = false;
            }
            TagEnd::Link | TagEnd::Image => {
                if let Some(link) = self.labels.pop() {
                    let found = links::of_markdown(&link.destination, &link.label, link.embed, link.at);
                    self.structure.references.extend(found);
                }
            }
            _ => {}
        }
        if is_end_of_text(tag) && !self.structure.prose.is_empty() {
            push_up_to(&mut self.structure.prose, "\n", language::SAMPLE_BYTES);
        }
    }

    fn close_heading(&mut self) {
        let Some(OpenHeading { level, block, text }) = self.heading.take() else { return };
        let text = plain_heading(&text);
        // A heading without words heads nothing.
        if text.is_empty() {
            return;
        }
        let start = self.structure.blocks[block].bytes.start;
        let line = self.line_starts.partition_point(|&line| line <= start).max(1) as u32;
        let index = self.outline.push(&mut self.structure, level as u8, text, line);
        let block = &mut self.structure.blocks[block];
        block.kind = BlockKind::Heading;
        block.heading = Some(index);
    }

    fn words(&mut self, words: &str) {
        if self.code_depth > 0 {
            return;
        }
        if let Some(heading) = &mut self.heading {
            push_up_to(&mut heading.text, words, MAX_HEADING_BYTES);
        }
        if let Some(link) = self.labels.last_mut() {
            push_up_to(&mut link.label, words, MAX_LABEL_BYTES);
        }
        push_up_to(&mut self.structure.prose, words, language::SAMPLE_BYTES);
    }

    /// Adds a block and gives its index, first covering text that no element took, such as link definitions.
    fn block(&mut self, kind: BlockKind, range: Range<usize>) -> Option<usize> {
        self.cover_up_to(range.start);
        // Indentation belongs to what it indents.
        let between = &self.text[self.covered..range.start.max(self.covered)];
        let start = self.covered + between.trim_end_matches([' ', '\t']).len();
        self.push(kind, start..range.end)
    }

    fn cover_up_to(&mut self, end: usize) {
        if end > self.covered {
            let gap = &self.text[self.covered..end];
            if !gap.trim().is_empty() {
                let blank = gap.len() - gap.trim_start_matches(['\n', '\r']).len();
                self.push(BlockKind::Other, self.covered + blank..end);
            }
        }
    }

    fn push(&mut self, kind: BlockKind, range: Range<usize>) -> Option<usize> {
        let start = range.start.max(self.covered);
        let end = start + self.text.get(start..range.end)?.trim_end().len();
        if end <= start {
            return None;
        }
        let heading = self.structure.headings.len().checked_sub(1);
        self.structure.blocks.push(Block { kind, bytes: start..end, heading });
        self.covered = end;
        Some(self.structure.blocks.len() - 1)
    }
}

fn is_end_of_text(tag: TagEnd) -> bool {
    matches!(tag, TagEnd::Paragraph | TagEnd::Heading(_) | TagEnd::Item | TagEnd::TableCell)
}

fn push_up_to(text: &mut String, more: &str, limit: usize) {
    let room = limit.saturating_sub(text.len());
    text.push_str(&more[..more.floor_char_boundary(room)]);
}

/// Text of a heading on one line; of a wiki link what is shown.
pub(super) fn plain_heading(raw: &str) -> String {
    let mut shown = String::with_capacity(raw.len());
    let mut rest = raw;
    while let Some((before, after)) = rest.split_once("[[")
        && let Some((inner, behind)) = after.split_once("]]")
    {
        shown.push_str(before);
        shown.push_str(inner.rsplit('|').next().unwrap_or(inner));
        rest = behind;
    }
    shown.push_str(rest);
    shown.split_whitespace().collect::<Vec<_>>().join(" ")
}
