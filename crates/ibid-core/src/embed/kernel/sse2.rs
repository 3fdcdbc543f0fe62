//! SSE2, which every 64-bit x86 processor has: two rows times sixteen columns.

use std::arch::x86_64::{
    __m128i, _mm_add_epi32, _mm_add_ps, _mm_cvtepi32_ps, _mm_loadu_ps, _mm_loadu_si128, _mm_madd_epi16,
    _mm_mul_ps, _mm_set1_epi32, _mm_set1_ps, _mm_setzero_ps, _mm_setzero_si128, _mm_srai_epi16,
    _mm_storeu_ps, _mm_unpackhi_epi8, _mm_unpacklo_epi8,
};

use super::{Kernel, LinearTile, PANEL, ProductTile, elementwise, math};

pub(super) static KERNEL: Kernel = Kernel {
    name: "sse2",
    linear: &[linear::<1>, linear::<2>],
    product: &[product::<1>, product::<2>],
    gelu,
    normalise,
    softmax,
    quantise,
};

elementwise!();

/// # Safety
/// The pointers of the tile reach over `R` rows and a whole panel.
unsafe fn linear<const R: usize>(tile: LinearTile) {
    // SAFETY: every 64-bit x86 processor has SSE2; the reads and writes stay inside the tile: `pair` is below
    // half the inputs, and scales, bias and each row of `out` have sixteen numbers.
    unsafe {
        let mut sums = [[_mm_setzero_si128(); 4]; R];
        for pair in 0..tile.inputs / 2 {
            let weights = tile.panel.add(pair * 2 * PANEL).cast::<__m128i>();
            let (low, high) = (_mm_loadu_si128(weights), _mm_loadu_si128(weights.add(1)));
            // A byte doubled and shifted down again is the byte with its sign in sixteen bits.
            let wide = [
                _mm_srai_epi16::<8>(_mm_unpacklo_epi8(low, low)),
                _mm_srai_epi16::<8>(_mm_unpackhi_epi8(low, low)),
                _mm_srai_epi16::<8>(_mm_unpacklo_epi8(high, high)),
                _mm_srai_epi16::<8>(_mm_unpackhi_epi8(high, high)),
            ];
            for (row, sums) in sums.iter_mut().enumerate() {
                let both = tile.activations.add(row * tile.inputs + 2 * pair).cast::<i32>();
                let both = _mm_set1_epi32(both.read_unaligned());
                for (sum, weights) in sums.iter_mut().zip(wide) {
                    *sum = _mm_add_epi32(*sum, _mm_madd_epi16(both, weights));
                }
            }
        }
        for quarter in 0..4 {
            let scales = _mm_loadu_ps(tile.weight_scales.add(quarter * 4));
            let bias = _mm_loadu_ps(tile.bias.add(quarter * 4));
            for (row, sums) in sums.iter().enumerate() {
                let scale = _mm_mul_ps(scales, _mm_set1_ps(*tile.activation_scales.add(row)));
                let value = _mm_add_ps(_mm_mul_ps(_mm_cvtepi32_ps(sums[quarter]), scale), bias);
                _mm_storeu_ps(tile.out.add(row * tile.out_stride + quarter * 4), value);
            }
        }
    }
}

/// # Safety
/// The pointers of the tile reach over `R` rows and a whole panel.
unsafe fn product<const R: usize>(tile: ProductTile) {
    // SAFETY: every 64-bit x86 processor has SSE2; `place` is below the depth, and each row of `out` has room
    // for sixteen numbers.
    unsafe {
        let mut sums = [[_mm_setzero_ps(); 4]; R];
        for place in 0..tile.depth {
            let panel = tile.panel.add(place * PANEL);
            for (row, sums) in sums.iter_mut().enumerate() {
                let left = _mm_set1_ps(*tile.left.add(row * tile.left_stride + place));
                for (quarter, sum) in sums.iter_mut().enumerate() {
                    *sum = _mm_add_ps(*sum, _mm_mul_ps(left, _mm_loadu_ps(panel.add(quarter * 4))));
                }
            }
        }
        for (row, sums) in sums.iter().enumerate() {
            for (quarter, sum) in sums.iter().enumerate() {
                _mm_storeu_ps(tile.out.add(row * tile.out_stride + quarter * 4), *sum);
            }
        }
    }
}
