//! AVX2 with fused multiply-add: six rows times sixteen columns in twelve registers.

use std::arch::x86_64::{
    __m128i, _mm_loadu_si128, _mm256_add_epi32, _mm256_add_ps, _mm256_cvtepi8_epi16, _mm256_cvtepi32_ps,
    _mm256_fmadd_ps, _mm256_loadu_ps, _mm256_madd_epi16, _mm256_mul_ps, _mm256_set1_epi32, _mm256_set1_ps,
    _mm256_setzero_ps, _mm256_setzero_si256, _mm256_storeu_ps,
};

use super::{Kernel, LinearTile, PANEL, ProductTile, elementwise, math};

pub(super) static KERNEL: Kernel = Kernel {
    name: "avx2",
    linear: &[linear::<1>, linear::<2>, linear::<3>, linear::<4>, linear::<5>, linear::<6>],
    product: &[product::<1>, product::<2>, product::<3>, product::<4>, product::<5>, product::<6>],
    gelu,
    normalise,
    softmax,
    quantise,
};

elementwise!("avx2");

/// # Safety
/// The pointers of the tile reach over `R` rows and a whole panel.
#[target_feature(enable = "avx2")]
unsafe fn linear<const R: usize>(tile: LinearTile) {
    let mut sums = [[_mm256_setzero_si256(); 2]; R];
    for pair in 0..tile.inputs / 2 {
        // SAFETY: `pair` is below half the inputs, so 32 weights and two activations of each row exist.
        unsafe {
            let weights = tile.panel.add(pair * 2 * PANEL).cast::<__m128i>();
            let low = _mm256_cvtepi8_epi16(_mm_loadu_si128(weights));
            let high = _mm256_cvtepi8_epi16(_mm_loadu_si128(weights.add(1)));
            for (row, sums) in sums.iter_mut().enumerate() {
                let both = tile.activations.add(row * tile.inputs + 2 * pair).cast::<i32>();
                let both = _mm256_set1_epi32(both.read_unaligned());
                sums[0] = _mm256_add_epi32(sums[0], _mm256_madd_epi16(both, low));
                sums[1] = _mm256_add_epi32(sums[1], _mm256_madd_epi16(both, high));
            }
        }
    }
    for half in 0..2 {
        // SAFETY: scales and bias have sixteen numbers, each of the `R` rows of `out` has room for as many.
        unsafe {
            let scales = _mm256_loadu_ps(tile.weight_scales.add(half * 8));
            let bias = _mm256_loadu_ps(tile.bias.add(half * 8));
            for (row, sums) in sums.iter().enumerate() {
                let scale = _mm256_mul_ps(scales, _mm256_set1_ps(*tile.activation_scales.add(row)));
                let value = _mm256_add_ps(_mm256_mul_ps(_mm256_cvtepi32_ps(sums[half]), scale), bias);
                _mm256_storeu_ps(tile.out.add(row * tile.out_stride + half * 8), value);
            }
        }
    }
}

/// # Safety
/// The pointers of the tile reach over `R` rows and a whole panel.
#[target_feature(enable = "avx2,fma")]
unsafe fn product<const R: usize>(tile: ProductTile) {
    let mut sums = [[_mm256_setzero_ps(); 2]; R];
    for place in 0..tile.depth {
        // SAFETY: `place` is below the depth, so sixteen numbers of the panel and one of each row exist.
        unsafe {
            let low = _mm256_loadu_ps(tile.panel.add(place * PANEL));
            let high = _mm256_loadu_ps(tile.panel.add(place * PANEL + 8));
            for (row, sums) in sums.iter_mut().enumerate() {
                let left = _mm256_set1_ps(*tile.left.add(row * tile.left_stride + place));
                sums[0] = _mm256_fmadd_ps(left, low, sums[0]);
                sums[1] = _mm256_fmadd_ps(left, high, sums[1]);
            }
        }
    }
    for (row, sums) in sums.iter().enumerate() {
        // SAFETY: each of the `R` rows of `out` has room for sixteen numbers.
        unsafe {
            let out = tile.out.add(row * tile.out_stride);
            _mm256_storeu_ps(out, sums[0]);
            _mm256_storeu_ps(out.add(8), sums[1]);
        }
    }
}
