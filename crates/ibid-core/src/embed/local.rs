//! A model in a directory of the usual layout: BERT-family encoders with WordPiece and safetensors.

use std::{borrow::Cow, collections::HashMap, fs, io, path::Path};

use serde::{Deserialize, de::DeserializeOwned};
use sha2::{Digest, Sha256};

use super::{EmbedError, Embedder, encoder::Encoder, pack, safetensors::Tensors, weights::Shape};

/// The longest text a model may read, in word pieces, when its directory does not say.
const USUAL_LIMIT: usize = 512;
/// Larger files are no sentence encoder.
const LARGEST_FILE: u64 = 4 << 30;

/// What a directory does not say about its model.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LocalOptions {
    /// Name to show; otherwise the name of the directory.
    pub name: Option<String>,
    /// Put in front of every query.
    pub query_prefix: String,
    /// Put in front of every passage.
    pub passage_prefix: String,
}

/// A model from a directory, or from a file made by `pack`.
pub struct LocalModel {
    encoder: Encoder,
    model: String,
    options: LocalOptions,
}

#[derive(Deserialize)]
struct Config {
    model_type: String,
    hidden_size: usize,
    num_hidden_layers: usize,
    num_attention_heads: usize,
    intermediate_size: usize,
    vocab_size: usize,
    max_position_embeddings: usize,
    type_vocab_size: usize,
    layer_norm_eps: f32,
    hidden_act: String,
    position_embedding_type: Option<String>,
}

#[derive(Deserialize)]
struct TokenizerFile {
    model: TokenizerModel,
    normalizer: Normalizer,
    pre_tokenizer: Typed,
}

#[derive(Deserialize)]
struct TokenizerModel {
    #[serde(rename = "type")]
    kind: Option<String>,
    vocab: HashMap<String, usize>,
    unk_token: String,
    continuing_subword_prefix: String,
    max_input_chars_per_word: usize,
}

#[derive(Deserialize)]
struct Normalizer {
    #[serde(rename = "type")]
    kind: String,
    clean_text: Option<bool>,
    handle_chinese_chars: Option<bool>,
    strip_accents: Option<bool>,
    lowercase: Option<bool>,
}

#[derive(Deserialize)]
struct Typed {
    #[serde(rename = "type")]
    kind: String,
}

#[derive(Deserialize)]
struct Limit {
    max_seq_length: Option<usize>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Pooling {
    pooling_mode_cls_token: bool,
    pooling_mode_mean_tokens: bool,
}

impl LocalModel {
    /// Name of the packed file that may lie in a directory beside what it was made from.
    pub const PACKED: &str = "model.ibm";

    /// Opens a directory with `config.json`, `tokenizer.json` and `model.safetensors`, or a packed file.
    pub fn open(path: &Path, options: LocalOptions) -> Result<Self, EmbedError> {
        let stem = path.file_stem().map_or_else(String::new, |stem| stem.to_string_lossy().into_owned());
        let inside = path.join(Self::PACKED);
        if path.is_dir() && inside.is_file() {
            // What was packed by another version, or damaged since, is packed again.
            let packed = read(&inside, Self::PACKED)?;
            if let Ok(model) = Self::from_packed(packed, &stem, options.clone()) {
                return Ok(model);
            }
        }
        let packed = if path.is_dir() { Self::pack(path)? } else { read(path, "the model")? };
        Self::from_packed(packed, &stem, options)
    }

    /// Reads a directory, rounds its weights to eight bits and returns the packed file.
    pub fn pack(directory: &Path) -> Result<Vec<u8>, EmbedError> {
        let name = directory.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
        Self::pack_as(directory, &name)
    }

    /// The same under another name than that of the directory.
    pub fn pack_as(directory: &Path, name: &str) -> Result<Vec<u8>, EmbedError> {
        let config: Config = json(&directory.join("config.json"))?;
        let tokenizer: TokenizerFile = json(&directory.join("tokenizer.json"))?;
        let limit: Option<Limit> = optional(&directory.join("sentence_bert_config.json"))?;
        let pooling: Option<Pooling> = optional(&directory.join("1_Pooling/config.json"))?;
        let modules: Option<Vec<Typed>> = optional(&directory.join("modules.json"))?;
        let known = ["Transformer", "Pooling", "Normalize"];
        let shape = shape(&config, &tokenizer, limit, pooling)?;
        if modules.is_some_and(|all| all.iter().any(|one| !known.iter().any(|end| one.kind.ends_with(end)))) {
            return Err(unsupported("it has layers behind the encoder"));
        }
        let pieces = pieces(&tokenizer.model.vocab, config.vocab_size)?;
        let weights = read(&directory.join("model.safetensors"), "model.safetensors")?;
        let tensors = Tensors::read(&weights)?;
        let (places, types) = (config.max_position_embeddings, config.type_vocab_size);
        pack::pack(&shape, places, types, name, &pieces, &tensors)
    }

    fn from_packed(packed: Vec<u8>, stem: &str, options: LocalOptions) -> Result<Self, EmbedError> {
        // Two models that happen to share a name must not share vectors.
        let mut digest = Sha256::new();
        for part in
            [options.query_prefix.as_bytes(), b"\0", options.passage_prefix.as_bytes(), b"\0", &packed]
        {
            digest.update(part);
        }
        let digest = digest.finalize();
        let encoder = Encoder::new(Cow::Owned(packed))?;
        let name = match &options.name {
            Some(name) => name,
            None if encoder.name().is_empty() => stem,
            None => encoder.name(),
        };
        let model = format!("{name}:{:02x}{:02x}{:02x}{:02x}", digest[0], digest[1], digest[2], digest[3]);
        Ok(Self { encoder, model, options })
    }
}

impl Embedder for LocalModel {
    fn model(&self) -> &str {
        &self.model
    }

    fn dimensions(&self) -> usize {
        self.encoder.dimensions()
    }

    fn embed_passages(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>, EmbedError> {
        if self.options.passage_prefix.is_empty() {
            return self.encoder.embed(texts);
        }
        let prefixed: Vec<String> =
            texts.iter().map(|text| format!("{}{text}", self.options.passage_prefix)).collect();
        self.encoder.embed(&prefixed)
    }

    fn embed_query(&self, query: &str) -> Result<Vec<f32>, EmbedError> {
        let none = EmbedError::Damaged("it gives no vector");
        self.encoder.embed(&[format!("{}{query}", self.options.query_prefix)])?.pop().ok_or(none)
    }

    fn fertility(&self, text: &str) -> Option<f32> {
        self.encoder.fertility(text)
    }

    fn pieces(&self, text: &str) -> Option<usize> {
        Some(self.encoder.count(text))
    }
}

fn unsupported(why: &str) -> EmbedError {
    EmbedError::Config(format!(
        "this model cannot be used: {why}; choose a BERT encoder with WordPiece and safetensors"
    ))
}

fn shape(
    config: &Config,
    tokenizer: &TokenizerFile,
    limit: Option<Limit>,
    pooling: Option<Pooling>,
) -> Result<Shape, EmbedError> {
    let TokenizerFile { model, normalizer, pre_tokenizer } = tokenizer;
    if config.model_type != "bert" {
        return Err(unsupported("it is not of the BERT family"));
    }
    if config.hidden_act != "gelu"
        || config.position_embedding_type.as_deref().unwrap_or("absolute") != "absolute"
    {
        return Err(unsupported("its layers are of another kind"));
    }
    let word_piece = model.kind.as_deref().unwrap_or("WordPiece") == "WordPiece"
        && model.unk_token == "[UNK]"
        && model.continuing_subword_prefix == "##"
        && normalizer.kind == "BertNormalizer"
        && normalizer.clean_text != Some(false)
        && pre_tokenizer.kind == "BertPreTokenizer";
    if !word_piece {
        return Err(unsupported("its tokenizer is of another kind"));
    }
    let pooling = pooling.unwrap_or(Pooling { pooling_mode_mean_tokens: true, ..Pooling::default() });
    if pooling.pooling_mode_cls_token == pooling.pooling_mode_mean_tokens {
        return Err(unsupported("it gathers the vectors of a text in another way than mean or first"));
    }
    let lowercase = normalizer.lowercase.unwrap_or(true);
    let limit = limit.and_then(|limit| limit.max_seq_length).unwrap_or(USUAL_LIMIT);
    let shape = Shape {
        hidden: config.hidden_size,
        layers: config.num_hidden_layers,
        heads: config.num_attention_heads,
        inner: config.intermediate_size,
        pieces: config.vocab_size,
        positions: limit.min(config.max_position_embeddings),
        epsilon: config.layer_norm_eps,
        lowercase,
        strip_accents: normalizer.strip_accents.unwrap_or(lowercase),
        split_ideographs: normalizer.handle_chinese_chars.unwrap_or(true),
        first_token: pooling.pooling_mode_cls_token,
        longest_word: model.max_input_chars_per_word,
    };
    shape.check().map_err(unsupported)?;
    Ok(shape)
}

/// The vocabulary in the order of its numbers, one piece a line.
fn pieces(vocabulary: &HashMap<String, usize>, count: usize) -> Result<String, EmbedError> {
    let mut ordered = vec![None; count];
    for (piece, number) in vocabulary {
        let place =
            ordered.get_mut(*number).ok_or(EmbedError::Damaged("its vocabulary does not fit its shape"))?;
        *place = Some(piece.as_str());
    }
    // Models may leave numbers unused at the end; a line that no text can hold takes their place.
    let lines: Vec<&str> = ordered.into_iter().map(|piece| piece.unwrap_or("\u{0}")).collect();
    if lines.iter().any(|line| line.contains('\n')) {
        return Err(unsupported("its vocabulary holds a line break"));
    }
    Ok(lines.join("\n"))
}

fn read(path: &Path, name: &str) -> Result<Vec<u8>, EmbedError> {
    let failed = |error: io::Error| match error.kind() {
        io::ErrorKind::NotFound => EmbedError::Config(format!("{name} is missing")),
        _ => EmbedError::Config(format!("{name} cannot be read: {}", error.kind())),
    };
    if fs::metadata(path).map_err(failed)?.len() > LARGEST_FILE {
        return Err(EmbedError::Config(format!("{name} is too large")));
    }
    fs::read(path).map_err(failed)
}

fn json<T: DeserializeOwned>(path: &Path) -> Result<T, EmbedError> {
    let name = path.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
    let bytes = read(path, &name)?;
    serde_json::from_slice(&bytes)
        .map_err(|error| EmbedError::Config(format!("{name} is not as expected at line {}", error.line())))
}

fn optional<T: DeserializeOwned>(path: &Path) -> Result<Option<T>, EmbedError> {
    if path.exists() { json(path).map(Some) } else { Ok(None) }
}

#[cfg(test)]
#[path = "local_tests.rs"]
mod tests;
