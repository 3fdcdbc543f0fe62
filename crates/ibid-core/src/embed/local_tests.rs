//! Small models written to a directory, against plain arithmetic.

use std::{collections::BTreeMap, path::PathBuf};

use serde_json::{Value, json};
use tempfile::TempDir;

use super::{super::reference::cosine, *};

const HIDDEN: usize = 32;
const HEADS: usize = 2;
const INNER: usize = 48;
const LAYERS: usize = 2;
const PLACES: usize = 20;
const PIECES: [&str; 10] =
    ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "know", "##ledge", "base", "search", ".", "é"];

type Tensor = (Vec<usize>, Vec<f32>);

/// A model with made-up weights.
struct Model {
    tensors: BTreeMap<String, Tensor>,
    config: Value,
    tokenizer: Value,
}

impl Model {
    fn new() -> Self {
        let mut state = 42_u64;
        let mut number = move || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 40) as f32 / (1 << 23) as f32 - 1.0
        };
        let mut tensors = BTreeMap::new();
        let mut add = |name: String, shape: &[usize], offset: f32| {
            let count = shape.iter().product();
            let values = (0..count).map(|_| offset + 0.3 * number()).collect();
            tensors.insert(name, (shape.to_vec(), values));
        };
        add("embeddings.word_embeddings.weight".into(), &[PIECES.len(), HIDDEN], 0.0);
        add("embeddings.position_embeddings.weight".into(), &[PLACES, HIDDEN], 0.0);
        add("embeddings.token_type_embeddings.weight".into(), &[2, HIDDEN], 0.0);
        let mut norms = vec!["embeddings.LayerNorm".to_owned()];
        let mut linears = Vec::new();
        for layer in 0..LAYERS {
            let layer = format!("encoder.layer.{layer}");
            for kind in ["query", "key", "value"] {
                linears.push((format!("{layer}.attention.self.{kind}"), HIDDEN, HIDDEN));
            }
            linears.push((format!("{layer}.attention.output.dense"), HIDDEN, HIDDEN));
            linears.push((format!("{layer}.intermediate.dense"), INNER, HIDDEN));
            linears.push((format!("{layer}.output.dense"), HIDDEN, INNER));
            norms.push(format!("{layer}.attention.output.LayerNorm"));
            norms.push(format!("{layer}.output.LayerNorm"));
        }
        for (name, outputs, inputs) in linears {
            add(format!("{name}.weight"), &[outputs, inputs], 0.0);
            add(format!("{name}.bias"), &[outputs], 0.0);
        }
        for name in norms {
            add(format!("{name}.weight"), &[HIDDEN], 1.0);
            add(format!("{name}.bias"), &[HIDDEN], 0.0);
        }
        let config = json!({
            "model_type": "bert", "hidden_size": HIDDEN, "num_hidden_layers": LAYERS,
            "num_attention_heads": HEADS, "intermediate_size": INNER, "vocab_size": PIECES.len(),
            "max_position_embeddings": PLACES, "type_vocab_size": 2, "layer_norm_eps": 1e-12, "hidden_act": "gelu",
        });
        let vocabulary: BTreeMap<&str, usize> =
            PIECES.iter().enumerate().map(|(id, piece)| (*piece, id)).collect();
        let tokenizer = json!({
            "normalizer": {"type": "BertNormalizer", "clean_text": true, "handle_chinese_chars": true,
                "strip_accents": null, "lowercase": true},
            "pre_tokenizer": {"type": "BertPreTokenizer"},
            "model": {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##",
                "max_input_chars_per_word": 100, "vocab": vocabulary},
        });
        Self { tensors, config, tokenizer }
    }

    /// The tensors as a file, with this type of numbers and this prefix of names.
    fn safetensors(&self, kind: &str, prefix: &str) -> Vec<u8> {
        let (mut table, mut data) = (serde_json::Map::new(), Vec::new());
        table.insert("__metadata__".into(), json!({"format": "pt"}));
        for (name, (shape, values)) in &self.tensors {
            let start = data.len();
            for value in values {
                match kind {
                    "F32" => data.extend(value.to_le_bytes()),
                    "BF16" => data.extend(((value.to_bits() + 0x8000) >> 16).to_le_bytes()[..2].iter()),
                    _ => data.extend(half_bits(*value).to_le_bytes()),
                }
            }
            table.insert(
                format!("{prefix}{name}"),
                json!({"dtype": kind, "shape": shape, "data_offsets": [start, data.len()]}),
            );
        }
        table.insert("ids".into(), json!({"dtype": "I64", "shape": [0], "data_offsets": [0, 0]}));
        let table = serde_json::to_vec(&table).unwrap();
        [&(table.len() as u64).to_le_bytes()[..], &table, &data].concat()
    }

    fn write(&self, kind: &str, prefix: &str) -> (TempDir, PathBuf) {
        let root = TempDir::new().unwrap();
        let directory = root.path().join("tiny");
        fs::create_dir(&directory).unwrap();
        fs::write(directory.join("config.json"), self.config.to_string()).unwrap();
        fs::write(directory.join("tokenizer.json"), self.tokenizer.to_string()).unwrap();
        fs::write(directory.join("model.safetensors"), self.safetensors(kind, prefix)).unwrap();
        (root, directory)
    }

    fn linear(&self, rows: &[Vec<f32>], name: &str) -> Vec<Vec<f32>> {
        let (shape, weight) = &self.tensors[&format!("{name}.weight")];
        let bias = &self.tensors[&format!("{name}.bias")].1;
        let one = |row: &Vec<f32>| {
            weight.chunks(shape[1]).zip(bias).map(|(weight, bias)| cosine(weight, row) + bias).collect()
        };
        rows.iter().map(one).collect()
    }

    fn norm(&self, rows: &[Vec<f32>], addend: &[Vec<f32>], name: &str) -> Vec<Vec<f32>> {
        let [scale, shift] = ["weight", "bias"].map(|part| &self.tensors[&format!("{name}.{part}")].1);
        let one = |(row, addend): (&Vec<f32>, &Vec<f32>)| {
            let row: Vec<f32> = row.iter().zip(addend).map(|(left, right)| left + right).collect();
            let mean = row.iter().sum::<f32>() / row.len() as f32;
            let variance = row.iter().map(|value| (value - mean).powi(2)).sum::<f32>() / row.len() as f32;
            let normal = row.iter().map(|value| (value - mean) / variance.sqrt());
            normal.zip(scale.iter().zip(shift)).map(|(value, (scale, shift))| value * scale + shift).collect()
        };
        rows.iter().zip(addend).map(one).collect()
    }

    /// All rows of the last layer, in plain arithmetic.
    fn forward(&self, ids: &[usize]) -> Vec<Vec<f32>> {
        let row = |name: &str, at: usize| self.tensors[name].1[at * HIDDEN..][..HIDDEN].to_vec();
        let words: Vec<_> = ids.iter().map(|id| row("embeddings.word_embeddings.weight", *id)).collect();
        let kind = row("embeddings.token_type_embeddings.weight", 0);
        let places: Vec<Vec<f32>> = (0..ids.len())
            .map(|at| row("embeddings.position_embeddings.weight", at))
            .map(|place| place.iter().zip(&kind).map(|(place, kind)| place + kind).collect())
            .collect();
        let mut rows = self.norm(&words, &places, "embeddings.LayerNorm");
        let head = HIDDEN / HEADS;
        for layer in 0..LAYERS {
            let layer = format!("encoder.layer.{layer}");
            let [query, key, value] = ["query", "key", "value"]
                .map(|kind| self.linear(&rows, &format!("{layer}.attention.self.{kind}")));
            let mut mixed = vec![vec![0.0; HIDDEN]; ids.len()];
            for first in (0..HIDDEN).step_by(head) {
                for (query, mixed) in query.iter().zip(&mut mixed) {
                    let score = |key: &Vec<f32>| {
                        (cosine(&query[first..first + head], &key[first..first + head])
                            / (head as f32).sqrt())
                        .exp()
                    };
                    let scores: Vec<f32> = key.iter().map(score).collect();
                    let sum: f32 = scores.iter().sum();
                    for (score, value) in scores.iter().zip(&value) {
                        for column in first..first + head {
                            mixed[column] += score / sum * value[column];
                        }
                    }
                }
            }
            let projected = self.linear(&mixed, &format!("{layer}.attention.output.dense"));
            rows = self.norm(&rows, &projected, &format!("{layer}.attention.output.LayerNorm"));
            let mut inner = self.linear(&rows, &format!("{layer}.intermediate.dense"));
            inner.iter_mut().flatten().for_each(|value| *value = gelu(*value));
            let outer = self.linear(&inner, &format!("{layer}.output.dense"));
            rows = self.norm(&rows, &outer, &format!("{layer}.output.LayerNorm"));
        }
        rows
    }
}

/// The definition, with the error function as a sum of many narrow strips.
fn gelu(x: f32) -> f32 {
    let limit = f64::from(x) / std::f64::consts::SQRT_2;
    let width = limit / 400.0;
    let strip = |at: i32| (-((f64::from(at) + 0.5) * width).powi(2)).exp() * width;
    let error = (0..400).map(strip).sum::<f64>() * std::f64::consts::FRAC_2_SQRT_PI;
    (0.5 * f64::from(x) * (1.0 + error)) as f32
}

fn half_bits(value: f32) -> u16 {
    let bits = value.to_bits();
    let exponent = (bits >> 23 & 255).cast_signed() - 112;
    let sign = (bits >> 16 & 0x8000) as u16;
    if exponent <= 0 { sign } else { sign | ((exponent as u32) << 10 | bits >> 13 & 1023) as u16 }
}

fn direction(mut vector: Vec<f32>) -> Vec<f32> {
    assert!(super::super::unit_length(&mut vector));
    vector
}

fn mean(rows: &[Vec<f32>]) -> Vec<f32> {
    direction((0..HIDDEN).map(|column| rows.iter().map(|row| row[column]).sum()).collect())
}

const TEXT: &str = "Knowledge base. Search";
const IDS: [usize; 7] = [2, 4, 5, 6, 8, 7, 3];

#[test]
fn a_directory_gives_the_vectors_of_its_weights() {
    let model = Model::new();
    let expected = mean(&model.forward(&IDS));
    for (kind, prefix) in [("F32", ""), ("F32", "bert."), ("F16", ""), ("BF16", "")] {
        let (_root, directory) = model.write(kind, prefix);
        let local = LocalModel::open(&directory, LocalOptions::default()).unwrap();
        assert_eq!(local.dimensions(), HIDDEN);
        assert!(local.model().starts_with("tiny:"), "{}", local.model());
        let similarity = cosine(&local.embed_query(TEXT).unwrap(), &expected);
        assert!(similarity > 0.999, "{kind}: {similarity}");
        assert_eq!(local.embed_passages(&[TEXT]).unwrap()[0], local.embed_query(TEXT).unwrap());
    }
}

#[test]
fn the_first_token_can_stand_for_the_text() {
    let model = Model::new();
    let (_root, directory) = model.write("F32", "");
    fs::create_dir(directory.join("1_Pooling")).unwrap();
    fs::write(directory.join("1_Pooling/config.json"), r#"{"pooling_mode_cls_token": true}"#).unwrap();
    let local = LocalModel::open(&directory, LocalOptions::default()).unwrap();
    let expected = direction(model.forward(&IDS).swap_remove(0));
    assert!(cosine(&local.embed_query(TEXT).unwrap(), &expected) > 0.999);
    assert!(cosine(&mean(&model.forward(&IDS)), &expected) < 0.999);
}

#[test]
fn a_prefix_is_part_of_the_text_and_of_the_name() {
    let (_root, directory) = Model::new().write("F32", "");
    let plain = LocalModel::open(&directory, LocalOptions::default()).unwrap();
    let options =
        LocalOptions { query_prefix: "search ".into(), passage_prefix: "base ".into(), ..Default::default() };
    let prefixed = LocalModel::open(&directory, options).unwrap();
    assert_eq!(prefixed.embed_query("know").unwrap(), plain.embed_query("search know").unwrap());
    assert_eq!(prefixed.embed_passages(&["know"]).unwrap(), plain.embed_passages(&["base know"]).unwrap());
    assert_ne!(prefixed.model(), plain.model());
    let named =
        LocalModel::open(&directory, LocalOptions { name: Some("mine".into()), ..Default::default() });
    assert!(named.unwrap().model().starts_with("mine:"));
}

#[test]
fn a_packed_file_is_the_same_model() {
    let (root, directory) = Model::new().write("F32", "");
    let packed = root.path().join("packed.ibm");
    fs::write(&packed, LocalModel::pack(&directory).unwrap()).unwrap();
    let [one, other] =
        [&directory, &packed].map(|path| LocalModel::open(path, LocalOptions::default()).unwrap());
    assert_eq!(one.model(), other.model());
    assert_eq!(one.embed_query(TEXT).unwrap(), other.embed_query(TEXT).unwrap());
}

#[test]
fn long_texts_are_cut_at_the_limit_of_the_directory() {
    let model = Model::new();
    let (_root, directory) = model.write("F32", "");
    let whole = LocalModel::open(&directory, LocalOptions::default()).unwrap();
    let long = "base ".repeat(500);
    assert_eq!(whole.embed_query(&long).unwrap(), whole.embed_query(&"base ".repeat(PLACES - 2)).unwrap());
    fs::write(directory.join("sentence_bert_config.json"), r#"{"max_seq_length": 5}"#).unwrap();
    let short = LocalModel::open(&directory, LocalOptions::default()).unwrap();
    assert_eq!(short.embed_query(&long).unwrap(), whole.embed_query("base base base").unwrap());
}

#[test]
fn a_model_of_another_kind_is_refused_with_a_reason() {
    let refused = |change: &dyn Fn(&mut Model), file: Option<(&str, &str)>| {
        let mut model = Model::new();
        change(&mut model);
        let (_root, directory) = model.write("F32", "");
        if let Some((name, content)) = file {
            fs::create_dir_all(directory.join(name).parent().unwrap()).unwrap();
            fs::write(directory.join(name), content).unwrap();
        }
        LocalModel::open(&directory, LocalOptions::default()).err()
    };
    let nothing = |_: &mut Model| {};
    assert!(refused(&nothing, None).is_none());
    let config: [(&str, Value); 7] = [
        ("model_type", json!("roberta")),
        ("hidden_act", json!("relu")),
        ("position_embedding_type", json!("relative_key")),
        ("hidden_size", json!(40)),
        ("num_attention_heads", json!(0)),
        ("layer_norm_eps", json!(0.0)),
        ("num_hidden_layers", json!("many")),
    ];
    for (field, value) in config {
        let error = refused(&|model| model.config[field] = value.clone(), None);
        assert!(matches!(error, Some(EmbedError::Config(_))), "{field}: {error:?}");
    }
    for (field, value) in
        [("num_hidden_layers", 3), ("vocab_size", 9), ("intermediate_size", 64), ("vocab_size", 4_000_000)]
    {
        let error = refused(&|model| model.config[field] = json!(value), None);
        assert!(matches!(error, Some(EmbedError::Damaged(_))), "{field}: {error:?}");
    }
    for (pointer, value) in [
        ("/model/type", json!("BPE")),
        ("/model/continuing_subword_prefix", json!("@@")),
        ("/normalizer/type", json!("Lowercase")),
        ("/pre_tokenizer/type", json!("Metaspace")),
    ] {
        let error = refused(&|model| *model.tokenizer.pointer_mut(pointer).unwrap() = value.clone(), None);
        assert!(matches!(error, Some(EmbedError::Config(_))), "{pointer}: {error:?}");
    }
    for file in [
        ("1_Pooling/config.json", r#"{"pooling_mode_max_tokens": true}"#),
        ("modules.json", r#"[{"type": "sentence_transformers.models.Dense"}]"#),
        ("config.json", "{"),
        ("tokenizer.json", "[]"),
    ] {
        assert!(matches!(refused(&nothing, Some(file)), Some(EmbedError::Config(_))), "{file:?}");
    }
}

#[test]
fn missing_and_damaged_files_are_errors() {
    let model = Model::new();
    for name in ["config.json", "tokenizer.json", "model.safetensors"] {
        let (_root, directory) = model.write("F32", "");
        fs::remove_file(directory.join(name)).unwrap();
        let error = LocalModel::open(&directory, LocalOptions::default()).err();
        assert!(matches!(&error, Some(EmbedError::Config(text)) if text.contains(name)), "{name}: {error:?}");
    }
    let whole = model.safetensors("F32", "");
    for length in (0..whole.len()).step_by(1_777) {
        let (_root, directory) = model.write("F32", "");
        fs::write(directory.join("model.safetensors"), &whole[..length]).unwrap();
        let error = LocalModel::open(&directory, LocalOptions::default()).err();
        assert!(matches!(error, Some(EmbedError::Damaged(_))), "{length}: {error:?}");
    }
    let mut broken = Model::new();
    broken.tensors.get_mut("encoder.layer.0.output.dense.weight").unwrap().1[5] = f32::NAN;
    let (_root, directory) = broken.write("F32", "");
    assert!(matches!(LocalModel::open(&directory, LocalOptions::default()), Err(EmbedError::Damaged(_))));
    assert!(LocalModel::open(&directory.join("missing"), LocalOptions::default()).is_err());
}
