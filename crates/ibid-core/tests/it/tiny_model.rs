//! A small model with made-up weights, in a folder as models are published.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

use serde_json::{Map, json};

const HIDDEN: usize = 32;
const INNER: usize = 48;
const LAYERS: usize = 2;
const PLACES: usize = 64;

/// Numbers between -1 and 1 that look random and are the same for a seed.
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> f32 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 40) as f32 / (1 << 23) as f32 - 1.0
    }
}

/// Every letter and digit, at the beginning of a word and inside.
fn vocabulary() -> Vec<String> {
    let mut pieces: Vec<String> = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", ".", ","].map(str::to_owned).to_vec();
    for letter in ('a'..='z').chain('0'..='9') {
        pieces.extend([letter.to_string(), format!("##{letter}")]);
    }
    pieces
}

/// Writes a model to a new folder of this name; another seed is another model.
pub(crate) fn write(parent: &Path, name: &str, seed: u64) -> PathBuf {
    let directory = parent.join(name);
    fs::create_dir_all(&directory).unwrap();
    let pieces = vocabulary();
    let config = json!({
        "model_type": "bert", "hidden_size": HIDDEN, "num_hidden_layers": LAYERS,
        "num_attention_heads": 2, "intermediate_size": INNER, "vocab_size": pieces.len(),
        "max_position_embeddings": PLACES, "type_vocab_size": 2, "layer_norm_eps": 1e-12, "hidden_act": "gelu",
    });
    let numbers: BTreeMap<&str, usize> = pieces.iter().map(String::as_str).zip(0..).collect();
    let tokenizer = json!({
        "normalizer": {"type": "BertNormalizer", "clean_text": true, "handle_chinese_chars": true,
            "strip_accents": null, "lowercase": true},
        "pre_tokenizer": {"type": "BertPreTokenizer"},
        "model": {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##",
            "max_input_chars_per_word": 100, "vocab": numbers},
    });
    fs::write(directory.join("config.json"), config.to_string()).unwrap();
    fs::write(directory.join("tokenizer.json"), tokenizer.to_string()).unwrap();
    fs::write(directory.join("model.safetensors"), weights(pieces.len(), seed)).unwrap();
    directory
}

fn weights(pieces: usize, seed: u64) -> Vec<u8> {
    let mut shapes: Vec<(String, Vec<usize>, f32)> = vec![
        ("embeddings.word_embeddings.weight".into(), vec![pieces, HIDDEN], 0.0),
        ("embeddings.position_embeddings.weight".into(), vec![PLACES, HIDDEN], 0.0),
        ("embeddings.token_type_embeddings.weight".into(), vec![2, HIDDEN], 0.0),
    ];
    let mut norms = vec!["embeddings.LayerNorm".to_owned()];
    let mut linears = Vec::new();
    for layer in 0..LAYERS {
        let layer = format!("encoder.layer.{layer}");
        for kind in ["self.query", "self.key", "self.value", "output.dense"] {
            linears.push((format!("{layer}.attention.{kind}"), HIDDEN, HIDDEN));
        }
        linears.push((format!("{layer}.intermediate.dense"), INNER, HIDDEN));
        linears.push((format!("{layer}.output.dense"), HIDDEN, INNER));
        norms.push(format!("{layer}.attention.output.LayerNorm"));
        norms.push(format!("{layer}.output.LayerNorm"));
    }
    for (name, outputs, inputs) in linears {
        shapes.push((format!("{name}.weight"), vec![outputs, inputs], 0.0));
        shapes.push((format!("{name}.bias"), vec![outputs], 0.0));
    }
    for name in norms {
        shapes.push((format!("{name}.weight"), vec![HIDDEN], 1.0));
        shapes.push((format!("{name}.bias"), vec![HIDDEN], 0.0));
    }
    let (mut table, mut data, mut numbers) = (Map::new(), Vec::new(), Numbers(seed));
    for (name, shape, offset) in shapes {
        let start = data.len();
        for _ in 0..shape.iter().product() {
            data.extend((offset + 0.3 * numbers.next()).to_le_bytes());
        }
        table.insert(name, json!({"dtype": "F32", "shape": shape, "data_offsets": [start, data.len()]}));
    }
    let table = serde_json::to_vec(&table).unwrap();
    [&(table.len() as u64).to_le_bytes()[..], &table, &data].concat()
}
