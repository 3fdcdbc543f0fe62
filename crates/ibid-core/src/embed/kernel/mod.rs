//! Matrix kernels, chosen at run time for the processor at hand.
//!
//! Weights have eight bits, activations sixteen, sums thirty-two: integer arithmetic, so every kernel gives
//! the same linear layers. Only the small products inside the attention are in floating point, where kernels
//! with fused operations differ in the last digits.

#![allow(unsafe_code)]
#![allow(clippy::cast_ptr_alignment, reason = "loads and stores are those that need no alignment")]

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
#[cfg(target_arch = "aarch64")]
mod neon;
mod portable;
#[cfg(target_arch = "x86_64")]
mod sse2;

use super::{math, weights::PANEL};

/// Rows that are multiplied with all panels before the next ones: their activations stay in the cache.
const ROWS_IN_CACHE: usize = 96;

/// Up to `R` rows of sixteen-bit activations times one panel of weights.
#[derive(Clone, Copy)]
struct LinearTile {
    /// `rows × inputs` numbers.
    activations: *const i16,
    /// Even.
    inputs: usize,
    /// `inputs × 16` weights, pairs of inputs side by side.
    panel: *const i8,
    /// One per row.
    activation_scales: *const f32,
    /// Sixteen.
    weight_scales: *const f32,
    /// Sixteen.
    bias: *const f32,
    /// Sixteen numbers in each row.
    out: *mut f32,
    /// Distance of the rows of `out`.
    out_stride: usize,
}

/// Up to `R` rows of numbers times one panel of numbers.
#[derive(Clone, Copy)]
struct ProductTile {
    /// `depth` numbers in each row.
    left: *const f32,
    left_stride: usize,
    /// `depth × 16` numbers.
    panel: *const f32,
    depth: usize,
    /// Sixteen numbers in each row.
    out: *mut f32,
    out_stride: usize,
}

/// A linear layer, borrowed.
#[derive(Clone, Copy)]
pub(super) struct LinearView<'a> {
    pub(super) inputs: usize,
    pub(super) outputs: usize,
    pub(super) panels: &'a [u8],
    pub(super) scales: &'a [f32],
    pub(super) bias: &'a [f32],
}

/// Rows inside a larger matrix: where they begin and how far they are apart.
#[derive(Clone, Copy)]
pub(super) struct Rows {
    pub(super) start: usize,
    pub(super) stride: usize,
    pub(super) count: usize,
}

impl Rows {
    /// Index behind the last number, when each row has `width`; `None` when it cannot be counted.
    fn end(self, width: usize) -> Option<usize> {
        let last = self.count.checked_sub(1)?;
        last.checked_mul(self.stride)?.checked_add(self.start)?.checked_add(width)
    }
}

type Normalise = unsafe fn(&mut [f32], Option<&[f32]>, &[f32], &[f32], f32);
type Quantise = unsafe fn(&[f32], usize, f32, &mut [i16], &mut [f32]);

/// The functions of one instruction set. One is only reachable when the processor has the instructions.
pub(crate) struct Kernel {
    pub(super) name: &'static str,
    /// The tile with `n + 1` rows at place `n`.
    linear: &'static [unsafe fn(LinearTile)],
    product: &'static [unsafe fn(ProductTile)],
    gelu: unsafe fn(&mut [f32]),
    normalise: Normalise,
    softmax: unsafe fn(&mut [f32], usize, usize),
    quantise: Quantise,
}

/// The best kernel for this processor.
pub(super) fn best() -> &'static Kernel {
    available().next().unwrap_or(&portable::KERNEL)
}

/// Every kernel that this processor can run, best first.
pub(super) fn available() -> impl Iterator<Item = &'static Kernel> {
    #[cfg(target_arch = "x86_64")]
    let native = {
        let wide = std::arch::is_x86_feature_detected!("avx2") && std::arch::is_x86_feature_detected!("fma");
        let wider = wide && avx512::is_there();
        [wider.then_some(&avx512::KERNEL), wide.then_some(&avx2::KERNEL), Some(&sse2::KERNEL)]
    };
    #[cfg(target_arch = "aarch64")]
    let native = [Some(&neon::KERNEL)];
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    let native: [Option<&'static Kernel>; 0] = [];
    native.into_iter().flatten().chain([&portable::KERNEL])
}

/// Cuts `count` rows into parts of nearly the same size, none above `most`.
pub(super) fn parts(count: usize, most: usize) -> impl Iterator<Item = (usize, usize)> {
    let parts = count.div_ceil(most);
    (0..parts).map(move |part| {
        let begin = part * count / parts;
        (begin, (part + 1) * count / parts - begin)
    })
}

impl Kernel {
    /// `out` = `activations` × weights + bias, for `rows` rows of rounded activations.
    pub(super) fn linear(
        &self,
        layer: LinearView<'_>,
        rows: usize,
        activations: &[i16],
        activation_scales: &[f32],
        out: &mut [f32],
    ) {
        let LinearView { inputs, outputs, panels, scales, bias } = layer;
        let fits = inputs.is_multiple_of(2)
            && outputs.is_multiple_of(PANEL)
            && outputs.checked_mul(inputs) == Some(panels.len())
            && rows.checked_mul(inputs) == Some(activations.len())
            && rows.checked_mul(outputs) == Some(out.len())
            && (scales.len(), bias.len(), activation_scales.len()) == (outputs, outputs, rows);
        assert!(fits, "the sizes of a linear layer and its input belong together");
        for (first, count) in parts(rows, ROWS_IN_CACHE) {
            for panel in 0..outputs / PANEL {
                for (offset, tile_rows) in parts(count, self.linear.len()) {
                    let row = first + offset;
                    let tile = LinearTile {
                        activations: activations[row * inputs..].as_ptr(),
                        inputs,
                        panel: panels[panel * PANEL * inputs..].as_ptr().cast(),
                        activation_scales: activation_scales[row..].as_ptr(),
                        weight_scales: scales[panel * PANEL..].as_ptr(),
                        bias: bias[panel * PANEL..].as_ptr(),
                        out: out[row * outputs + panel * PANEL..].as_mut_ptr(),
                        out_stride: outputs,
                    };
                    // SAFETY: the sizes checked above hold `tile_rows` rows from `row` on, and a whole panel; the
                    // kernel is only reachable when the processor has its instructions.
                    unsafe { self.linear[tile_rows - 1](tile) }
                }
            }
        }
    }

    /// Rows of `out` = rows of `left` × one panel of `panel.len() / 16` rows.
    pub(super) fn product(
        &self,
        left: &[f32],
        left_rows: Rows,
        panel: &[f32],
        out: &mut [f32],
        out_rows: Rows,
    ) {
        let depth = panel.len() / PANEL;
        let fits = panel.len().is_multiple_of(PANEL)
            && left_rows.count == out_rows.count
            && left_rows.end(depth).is_some_and(|end| end <= left.len())
            && out_rows.end(PANEL).is_some_and(|end| end <= out.len())
            && out_rows.stride >= PANEL;
        assert!(fits, "the sizes of a product's sides belong together");
        for (offset, tile_rows) in parts(left_rows.count, self.product.len()) {
            let tile = ProductTile {
                left: left[left_rows.start + offset * left_rows.stride..].as_ptr(),
                left_stride: left_rows.stride,
                panel: panel.as_ptr(),
                depth,
                out: out[out_rows.start + offset * out_rows.stride..].as_mut_ptr(),
                out_stride: out_rows.stride,
            };
            // SAFETY: the ends of both matrices were checked above for all rows; the kernel is only reachable
            // when the processor has its instructions.
            unsafe { self.product[tile_rows - 1](tile) }
        }
    }

    /// Gaussian error linear unit.
    pub(super) fn gelu(&self, values: &mut [f32]) {
        // SAFETY: the kernel is only reachable when the processor has its instructions.
        unsafe { (self.gelu)(values) }
    }

    /// Adds and normalises rows.
    pub(super) fn normalise(
        &self,
        rows: &mut [f32],
        addend: Option<&[f32]>,
        scale: &[f32],
        shift: &[f32],
        epsilon: f32,
    ) {
        // SAFETY: as above.
        unsafe { (self.normalise)(rows, addend, scale, shift, epsilon) }
    }

    /// Softmax of the first `used` numbers of each row.
    pub(super) fn softmax(&self, rows: &mut [f32], stride: usize, used: usize) {
        // SAFETY: as above.
        unsafe { (self.softmax)(rows, stride, used) }
    }

    /// Rounds rows to sixteen bits.
    pub(super) fn quantise(&self, rows: &[f32], size: usize, out: &mut [i16], scales: &mut [f32]) {
        // SAFETY: as above.
        unsafe { (self.quantise)(rows, size, math::activation_limit(size), out, scales) }
    }
}

/// Defines the element-wise functions of a kernel: the bodies of `math`, compiled for its instructions.
macro_rules! elementwise {
    ($($feature:literal)?) => {
        $(#[target_feature(enable = $feature)])?
        fn gelu(values: &mut [f32]) {
            math::gelu(values);
        }
        $(#[target_feature(enable = $feature)])?
        fn normalise(rows: &mut [f32], addend: Option<&[f32]>, scale: &[f32], shift: &[f32], epsilon: f32) {
            math::normalise(rows, addend, scale, shift, epsilon);
        }
        $(#[target_feature(enable = $feature)])?
        fn softmax(rows: &mut [f32], stride: usize, used: usize) {
            math::softmax(rows, stride, used);
        }
        $(#[target_feature(enable = $feature)])?
        fn quantise(rows: &[f32], size: usize, limit: f32, out: &mut [i16], scales: &mut [f32]) {
            math::quantise(rows, size, limit, out, scales);
        }
    };
}
use elementwise;

#[cfg(test)]
mod tests;
