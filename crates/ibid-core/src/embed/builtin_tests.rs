//! The built-in model against the reference, and against damage.

use std::fmt::Write as _;

use sha2::{Digest, Sha256};

use super::{
    super::{
        kernel,
        reference::{Reference, cosine},
    },
    *,
};

fn owned(bytes: Vec<u8>) -> Result<Encoder, EmbedError> {
    Encoder::new(Cow::Owned(bytes))
}

#[test]
fn the_data_file_has_the_recorded_checksum() {
    let recorded = include_str!("../../model/model.sha256");
    let found = Sha256::digest(packed()).iter().fold(String::new(), |mut text, byte| {
        write!(text, "{byte:02x}").unwrap();
        text
    });
    assert_eq!(format!("{found}  minilm-l6-v2.ibm\n"), recorded);
}

#[test]
fn name_and_dimensions_are_those_of_the_data_file() {
    let encoder = BuiltinModel::encoder().unwrap();
    assert_eq!(BUILTIN_MODEL.split(':').next(), Some(encoder.name()));
    assert_eq!(DIMENSIONS, encoder.dimensions());
}

#[test]
fn vectors_are_close_to_those_in_full_precision() {
    let reference = Reference::read();
    let texts: Vec<&str> = reference.texts.iter().map(|text| text.content.as_str()).collect();
    let vectors = BuiltinModel.embed_passages(&texts).unwrap();
    for (text, vector) in reference.texts.iter().zip(&vectors) {
        let similarity = cosine(vector, &text.vector);
        // Without a single word there is little to average rounding errors over.
        let least = if text.ids.len() > 2 { 0.998 } else { 0.995 };
        assert!(similarity >= least, "{similarity} for {:?}", text.content);
    }
}

#[test]
fn every_kernel_gives_the_same_vectors() {
    let reference = Reference::read();
    // Without optimisation the plain loops are slow: short texts only.
    let short = reference.texts.iter().filter(|text| text.ids.len() < 14);
    let texts: Vec<&str> = short.map(|text| text.content.as_str()).collect();
    assert!(texts.len() > 4);
    let best = BuiltinModel.embed_passages(&texts).unwrap();
    for kernel in kernel::available().skip(1) {
        let encoder = Encoder::with_kernel(Cow::Borrowed(packed()), kernel).unwrap();
        let vectors = encoder.embed(&texts).unwrap();
        for ((text, best), vector) in texts.iter().zip(&best).zip(&vectors) {
            let similarity = cosine(best, vector);
            assert!(similarity >= 0.9999, "{}: {similarity} for {text:?}", encoder.instructions());
        }
    }
}

#[test]
fn a_vector_does_not_depend_on_the_texts_beside_it() {
    let texts = ["short", "a somewhat longer text about storage engines", "x", &"many words ".repeat(200)];
    let together = BuiltinModel.embed_passages(&texts).unwrap();
    for (text, vector) in texts.iter().zip(&together) {
        assert_eq!(&BuiltinModel.embed_query(text).unwrap(), vector);
    }
    assert!(BuiltinModel.embed_passages(&[]).unwrap().is_empty());
}

#[test]
fn any_text_gives_a_vector_of_unit_length() {
    let long = "long ".repeat(50_000);
    let endless = "a".repeat(300_000);
    for text in ["", " ", "\0", "\0\0a\0", "\u{1}\u{2}\u{7f}", "😀👩‍👩‍👧‍👦", "\u{202e}abc", "漢字", &long, &endless]
    {
        let vector = BuiltinModel.embed_query(text).unwrap();
        let length = cosine(&vector, &vector);
        assert_eq!(vector.len(), DIMENSIONS);
        assert!((length - 1.0).abs() < 1e-4, "{length}");
    }
}

#[test]
fn texts_of_the_same_meaning_are_closer_than_others() {
    let [question, answer, other] =
        ["how do I undo the last commit", "reverting your most recent git change", "a recipe for apple pie"]
            .map(|text| BuiltinModel.embed_query(text).unwrap());
    assert!(cosine(&question, &answer) > cosine(&question, &other) + 0.2);
}

#[test]
fn threads_share_one_model() {
    let expected = BuiltinModel.embed_query("shared").unwrap();
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| assert_eq!(BuiltinModel.embed_query("shared").unwrap(), expected));
        }
    });
}

#[test]
fn a_file_that_was_cut_short_is_an_error() {
    let whole = packed();
    for length in [
        0,
        1,
        7,
        8,
        63,
        64,
        65,
        100,
        4_096,
        250_000,
        1 << 20,
        whole.len() / 2,
        whole.len() - 64,
        whole.len() - 1,
    ] {
        assert!(matches!(owned(whole[..length].to_vec()), Err(EmbedError::Damaged(_))), "{length}");
    }
    let longer = [whole, &[0; 64]].concat();
    assert!(matches!(owned(longer), Err(EmbedError::Damaged(_))));
}

#[test]
fn a_header_that_lies_is_an_error() {
    // Even with a length that fits, the sections must fit the shape.
    for length in [64, 128, 1 << 18, packed().len() - 64] {
        let mut bytes = packed()[..length].to_vec();
        bytes[56..64].copy_from_slice(&(length as u64).to_le_bytes());
        assert!(matches!(owned(bytes), Err(EmbedError::Damaged(_))), "{length}");
    }
    for word in 0..12 {
        for value in [0_u32, 1, 17, u32::MAX] {
            let mut bytes = packed()[..1 << 20].to_vec();
            bytes[56..64].copy_from_slice(&(1_u64 << 20).to_le_bytes());
            bytes[8 + 4 * word..12 + 4 * word].copy_from_slice(&value.to_le_bytes());
            assert!(matches!(owned(bytes), Err(EmbedError::Damaged(_))), "{word} {value}");
        }
    }
}

#[test]
fn weights_that_are_no_numbers_give_an_error_instead_of_a_vector() {
    let mut bytes = packed().to_vec();
    let end = bytes.len();
    bytes[end - 1_536..].fill(0xFF);
    assert!(matches!(owned(bytes).unwrap().embed(&["text"]), Err(EmbedError::Damaged(_))));
}
