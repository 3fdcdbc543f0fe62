//! The element-wise part of the encoder, written so that the compiler can use whatever vectors a kernel allows.
//!
//! Every function is inlined into its kernels and computes in sixteen independent lanes without fused
//! operations, so all kernels give the same numbers.

#![allow(clippy::inline_always, reason = "bodies must be compiled with the instructions of their kernels")]

const LANES: usize = super::weights::PANEL;
/// Adding and subtracting this rounds a small number to the nearest integer.
const ROUND: f32 = 12_582_912.0;

/// The largest value a row is scaled to before it is rounded to sixteen bits: sums over `inputs` products with
/// 8-bit weights must fit into 32 bits.
pub(crate) fn activation_limit(inputs: usize) -> f32 {
    let most = i32::MAX as usize / (127 * inputs.max(1));
    most.min(i16::MAX as usize) as f32
}

/// e to the power of `x`, for `x` up to zero, within about 1e-7.
#[inline(always)]
fn exponential(x: f32) -> f32 {
    let x = if x < -87.0 { -87.0 } else { x };
    let shifted = x * std::f32::consts::LOG2_E + ROUND;
    let whole = shifted - ROUND;
    // The logarithm of two in two parts, so that the rest stays exact.
    let rest = x - whole * 0.693_359_4;
    let rest = rest + whole * 2.121_944_4e-4;
    let series = 1.987_569_1e-4;
    let series = series * rest + 1.398_199_9e-3;
    let series = series * rest + 8.333_452e-3;
    let series = series * rest + 4.166_579_6e-2;
    let series = series * rest + 0.166_666_65;
    let series = series * rest + 0.5;
    let series = series * rest * rest + rest + 1.0;
    series * f32::from_bits(shifted.to_bits().wrapping_add(127) << 23)
}

/// Gaussian error linear unit, with the error function of Abramowitz and Stegun 7.1.26 (within 1.5e-7).
#[inline(always)]
pub(super) fn gelu(values: &mut [f32]) {
    for value in values {
        let x = *value;
        let z = x.abs() * std::f32::consts::FRAC_1_SQRT_2;
        let t = 1.0 / (1.0 + 0.327_591_1 * z);
        let series = 1.061_405_4;
        let series = series * t - 1.453_152;
        let series = series * t + 1.421_413_8;
        let series = series * t - 0.284_496_74;
        let series = series * t + 0.254_829_6;
        let error = 1.0 - series * t * exponential(-z * z);
        let error = if x < 0.0 { -error } else { error };
        *value = 0.5 * x * (1.0 + error);
    }
}

#[inline(always)]
fn sum(values: &[f32], of: impl Fn(f32) -> f32) -> f32 {
    let mut lanes = [0.0; LANES];
    for chunk in values.chunks_exact(LANES) {
        for (lane, value) in lanes.iter_mut().zip(chunk) {
            *lane += of(*value);
        }
    }
    lanes.iter().sum()
}

#[inline(always)]
fn largest(values: &[f32], floor: f32, of: impl Fn(f32) -> f32) -> f32 {
    let mut lanes = [floor; LANES];
    for chunk in values.chunks_exact(LANES) {
        for (lane, value) in lanes.iter_mut().zip(chunk) {
            let value = of(*value);
            *lane = if value > *lane { value } else { *lane };
        }
    }
    lanes.iter().fold(floor, |most, lane| most.max(*lane))
}

/// Adds `addend` to the rows and normalises each to mean zero and deviation one, then scales and shifts it.
#[inline(always)]
pub(super) fn normalise(
    rows: &mut [f32],
    addend: Option<&[f32]>,
    scale: &[f32],
    shift: &[f32],
    epsilon: f32,
) {
    let size = scale.len();
    for (index, row) in rows.chunks_exact_mut(size).enumerate() {
        if let Some(addend) = addend {
            for (value, add) in row.iter_mut().zip(&addend[index * size..][..size]) {
                *value += add;
            }
        }
        let mean = sum(row, |value| value) / size as f32;
        let variance = sum(row, |value| (value - mean) * (value - mean)) / size as f32;
        let factor = 1.0 / (variance + epsilon).sqrt();
        for ((value, scale), shift) in row.iter_mut().zip(scale).zip(shift) {
            *value = (*value - mean) * factor * scale + shift;
        }
    }
}

/// Softmax of the first `used` values of each row of `stride` values; the rest become zero.
#[inline(always)]
pub(super) fn softmax(rows: &mut [f32], stride: usize, used: usize) {
    const NEVER: f32 = -1e30;
    for row in rows.chunks_exact_mut(stride) {
        row[used..].fill(NEVER);
        let most = largest(row, NEVER, |value| value);
        let mut lanes = [0.0; LANES];
        for chunk in row.chunks_exact_mut(LANES) {
            for (lane, value) in lanes.iter_mut().zip(chunk) {
                *value = exponential(*value - most);
                *lane += *value;
            }
        }
        let factor = 1.0 / lanes.iter().sum::<f32>();
        for value in row.iter_mut() {
            *value *= factor;
        }
    }
}

/// Rounds rows of `size` numbers to sixteen bits, with one scale per row.
#[inline(always)]
pub(super) fn quantise(rows: &[f32], size: usize, limit: f32, out: &mut [i16], scales: &mut [f32]) {
    let pairs = rows.chunks_exact(size).zip(out.chunks_exact_mut(size));
    for ((row, out), scale) in pairs.zip(scales) {
        let most = largest(row, 1e-9, f32::abs);
        *scale = most / limit;
        let factor = limit / most;
        for (out, value) in out.iter_mut().zip(row) {
            *out = (value * factor + ROUND).to_bits().wrapping_sub(ROUND.to_bits()) as i16;
        }
    }
}
