//! AVX-512 with integer dot products: sixteen rows times sixteen columns in as many registers.
//!
//! A panel of weights is as wide as one register, and the product of two pairs is added in one instruction. Sums
//! are made in the order of the AVX2 kernel, so the two give the same numbers to the last bit.

use std::arch::{
    asm,
    x86_64::{
        __m256i, __m512i, _mm256_loadu_si256, _mm512_add_ps, _mm512_cvtepi8_epi16, _mm512_cvtepi32_ps,
        _mm512_dpwssd_epi32, _mm512_fmadd_ps, _mm512_loadu_ps, _mm512_mul_ps, _mm512_set1_epi32,
        _mm512_set1_ps, _mm512_setzero_ps, _mm512_setzero_si512, _mm512_storeu_ps,
    },
};

use super::{Kernel, LinearTile, PANEL, ProductTile, elementwise, math};

/// The tiles with one to sixteen rows.
macro_rules! up_to_sixteen {
    ($tile:ident) => {
        &[
            $tile::<1>,
            $tile::<2>,
            $tile::<3>,
            $tile::<4>,
            $tile::<5>,
            $tile::<6>,
            $tile::<7>,
            $tile::<8>,
            $tile::<9>,
            $tile::<10>,
            $tile::<11>,
            $tile::<12>,
            $tile::<13>,
            $tile::<14>,
            $tile::<15>,
            $tile::<16>,
        ]
    };
}

pub(super) static KERNEL: Kernel = Kernel {
    name: "avx512",
    linear: up_to_sixteen!(linear),
    product: up_to_sixteen!(product),
    gelu,
    normalise,
    softmax,
    quantise,
};

/// Whether this processor has what the kernel needs.
pub(super) fn is_there() -> bool {
    std::arch::is_x86_feature_detected!("avx512f")
        && std::arch::is_x86_feature_detected!("avx512bw")
        && std::arch::is_x86_feature_detected!("avx512vnni")
}

elementwise!("avx512f,avx512bw");

/// Pairs of inputs that are worked on together.
const STEP: usize = 4;

/// The weights of a pair of inputs.
///
/// # Safety
/// `pair` is below half the inputs of the tile.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vnni")]
unsafe fn weights(tile: &LinearTile, pair: usize) -> __m512i {
    // SAFETY: a pair of inputs has 32 weights.
    unsafe { _mm512_cvtepi8_epi16(_mm256_loadu_si256(tile.panel.add(pair * 2 * PANEL).cast::<__m256i>())) }
}

/// # Safety
/// The pointers of the tile reach over `R` rows and a whole panel.
#[target_feature(enable = "avx512f,avx512bw,avx512vnni")]
unsafe fn linear<const R: usize>(tile: LinearTile) {
    let mut sums = [_mm512_setzero_si512(); R];
    let pairs = tile.inputs / 2;
    let whole = pairs - pairs % STEP;
    for first in (0..whole).step_by(STEP) {
        // SAFETY: the pairs from `first` to `first + STEP` are below half the inputs, so 32 weights and two
        // activations of each row exist for each of them.
        unsafe {
            let weights = [
                weights(&tile, first),
                weights(&tile, first + 1),
                weights(&tile, first + 2),
                weights(&tile, first + 3),
            ];
            for (row, sum) in sums.iter_mut().enumerate() {
                let activations = tile.activations.add(row * tile.inputs + 2 * first);
                // The compiler would make two instructions of each, and a third to repeat the activations.
                asm!(
                    "vpdpwssd {sum}, {first}, dword ptr [{activations}]{{1to16}}",
                    "vpdpwssd {sum}, {second}, dword ptr [{activations} + 4]{{1to16}}",
                    "vpdpwssd {sum}, {third}, dword ptr [{activations} + 8]{{1to16}}",
                    "vpdpwssd {sum}, {fourth}, dword ptr [{activations} + 12]{{1to16}}",
                    sum = inout(zmm_reg) *sum,
                    first = in(zmm_reg) weights[0],
                    second = in(zmm_reg) weights[1],
                    third = in(zmm_reg) weights[2],
                    fourth = in(zmm_reg) weights[3],
                    activations = in(reg) activations,
                    options(pure, readonly, nostack, preserves_flags),
                );
            }
        }
    }
    for pair in whole..pairs {
        // SAFETY: as above, for one pair.
        unsafe {
            let weights = weights(&tile, pair);
            for (row, sum) in sums.iter_mut().enumerate() {
                let both = tile.activations.add(row * tile.inputs + 2 * pair).cast::<i32>();
                *sum = _mm512_dpwssd_epi32(*sum, _mm512_set1_epi32(both.read_unaligned()), weights);
            }
        }
    }
    // SAFETY: scales and bias have sixteen numbers, each of the `R` rows of `out` has room for as many.
    unsafe {
        let scales = _mm512_loadu_ps(tile.weight_scales);
        let bias = _mm512_loadu_ps(tile.bias);
        for (row, sum) in sums.iter().enumerate() {
            let scale = _mm512_mul_ps(scales, _mm512_set1_ps(*tile.activation_scales.add(row)));
            let value = _mm512_add_ps(_mm512_mul_ps(_mm512_cvtepi32_ps(*sum), scale), bias);
            _mm512_storeu_ps(tile.out.add(row * tile.out_stride), value);
        }
    }
}

/// # Safety
/// The pointers of the tile reach over `R` rows and a whole panel.
#[target_feature(enable = "avx512f")]
unsafe fn product<const R: usize>(tile: ProductTile) {
    let mut sums = [_mm512_setzero_ps(); R];
    for place in 0..tile.depth {
        // SAFETY: `place` is below the depth, so sixteen numbers of the panel and one of each row exist.
        unsafe {
            let panel = _mm512_loadu_ps(tile.panel.add(place * PANEL));
            for (row, sum) in sums.iter_mut().enumerate() {
                let left = _mm512_set1_ps(*tile.left.add(row * tile.left_stride + place));
                *sum = _mm512_fmadd_ps(left, panel, *sum);
            }
        }
    }
    for (row, sum) in sums.iter().enumerate() {
        // SAFETY: each of the `R` rows of `out` has room for sixteen numbers.
        unsafe { _mm512_storeu_ps(tile.out.add(row * tile.out_stride), *sum) }
    }
}
