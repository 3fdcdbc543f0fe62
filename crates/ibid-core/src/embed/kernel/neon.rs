//! NEON, which every 64-bit Arm processor has: four rows times sixteen columns.

use std::arch::aarch64::{
    vaddq_f32, vcvtq_f32_s32, vdupq_n_f32, vdupq_n_s32, vfmaq_n_f32, vget_low_s8, vget_low_s16, vld1q_f32,
    vld2q_s8, vmlal_high_n_s16, vmlal_n_s16, vmovl_high_s8, vmovl_s8, vmulq_f32, vmulq_n_f32, vst1q_f32,
};

use super::{Kernel, LinearTile, PANEL, ProductTile, elementwise, math};

pub(super) static KERNEL: Kernel = Kernel {
    name: "neon",
    linear: &[linear::<1>, linear::<2>, linear::<3>, linear::<4>],
    product: &[product::<1>, product::<2>, product::<3>, product::<4>],
    gelu,
    normalise,
    softmax,
    quantise,
};

elementwise!();

/// # Safety
/// The pointers of the tile reach over `R` rows and a whole panel.
unsafe fn linear<const R: usize>(tile: LinearTile) {
    // SAFETY: every 64-bit Arm processor has NEON; the reads and writes stay inside the tile: `pair` is below
    // half the inputs, and scales, bias and each row of `out` have sixteen numbers.
    unsafe {
        let mut sums = [[vdupq_n_s32(0); 4]; R];
        for pair in 0..tile.inputs / 2 {
            // Takes the pairs apart: the weights of the first and of the second input.
            let weights = vld2q_s8(tile.panel.add(pair * 2 * PANEL));
            let wide = [weights.0, weights.1].map(|half| [vmovl_s8(vget_low_s8(half)), vmovl_high_s8(half)]);
            for (row, sums) in sums.iter_mut().enumerate() {
                for (input, weights) in wide.iter().enumerate() {
                    let value = *tile.activations.add(row * tile.inputs + 2 * pair + input);
                    sums[0] = vmlal_n_s16(sums[0], vget_low_s16(weights[0]), value);
                    sums[1] = vmlal_high_n_s16(sums[1], weights[0], value);
                    sums[2] = vmlal_n_s16(sums[2], vget_low_s16(weights[1]), value);
                    sums[3] = vmlal_high_n_s16(sums[3], weights[1], value);
                }
            }
        }
        for quarter in 0..4 {
            let scales = vld1q_f32(tile.weight_scales.add(quarter * 4));
            let bias = vld1q_f32(tile.bias.add(quarter * 4));
            for (row, sums) in sums.iter().enumerate() {
                let scale = vmulq_n_f32(scales, *tile.activation_scales.add(row));
                let value = vaddq_f32(vmulq_f32(vcvtq_f32_s32(sums[quarter]), scale), bias);
                vst1q_f32(tile.out.add(row * tile.out_stride + quarter * 4), value);
            }
        }
    }
}

/// # Safety
/// The pointers of the tile reach over `R` rows and a whole panel.
unsafe fn product<const R: usize>(tile: ProductTile) {
    // SAFETY: every 64-bit Arm processor has NEON; `place` is below the depth, and each row of `out` has room
    // for sixteen numbers.
    unsafe {
        let mut sums = [[vdupq_n_f32(0.0); 4]; R];
        for place in 0..tile.depth {
            let panel = tile.panel.add(place * PANEL);
            for (row, sums) in sums.iter_mut().enumerate() {
                let left = *tile.left.add(row * tile.left_stride + place);
                for (quarter, sum) in sums.iter_mut().enumerate() {
                    *sum = vfmaq_n_f32(*sum, vld1q_f32(panel.add(quarter * 4)), left);
                }
            }
        }
        for (row, sums) in sums.iter().enumerate() {
            for (quarter, sum) in sums.iter().enumerate() {
                vst1q_f32(tile.out.add(row * tile.out_stride + quarter * 4), *sum);
            }
        }
    }
}
