//! Plain loops for processors without a kernel of their own, and the measure for all others.

use super::{Kernel, LinearTile, PANEL, ProductTile, elementwise, math};

pub(super) static KERNEL: Kernel = Kernel {
    name: "portable",
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
    let mut sums = [[0_i32; PANEL]; R];
    for pair in 0..tile.inputs / 2 {
        // SAFETY: `pair` is below half the inputs, so both inputs of each row and their weights exist.
        unsafe {
            let weights = &*tile.panel.add(pair * 2 * PANEL).cast::<[i8; 2 * PANEL]>();
            for (row, sums) in sums.iter_mut().enumerate() {
                let first = i32::from(*tile.activations.add(row * tile.inputs + 2 * pair));
                let second = i32::from(*tile.activations.add(row * tile.inputs + 2 * pair + 1));
                for (column, sum) in sums.iter_mut().enumerate() {
                    *sum += first * i32::from(weights[2 * column]);
                    *sum += second * i32::from(weights[2 * column + 1]);
                }
            }
        }
    }
    for (row, sums) in sums.iter().enumerate() {
        for (column, sum) in sums.iter().enumerate() {
            // SAFETY: the tile has `R` rows and sixteen columns.
            unsafe {
                let scale = *tile.weight_scales.add(column) * *tile.activation_scales.add(row);
                *tile.out.add(row * tile.out_stride + column) = *sum as f32 * scale + *tile.bias.add(column);
            }
        }
    }
}

/// # Safety
/// The pointers of the tile reach over `R` rows and a whole panel.
unsafe fn product<const R: usize>(tile: ProductTile) {
    let mut sums = [[0.0_f32; PANEL]; R];
    for place in 0..tile.depth {
        // SAFETY: `place` is below the depth, so the panel's row and each left number exist.
        unsafe {
            let panel = &*tile.panel.add(place * PANEL).cast::<[f32; PANEL]>();
            for (row, sums) in sums.iter_mut().enumerate() {
                let left = *tile.left.add(row * tile.left_stride + place);
                for (sum, value) in sums.iter_mut().zip(panel) {
                    *sum += left * value;
                }
            }
        }
    }
    for (row, sums) in sums.iter().enumerate() {
        // SAFETY: each of the `R` rows of `out` has room for sixteen numbers.
        unsafe { *tile.out.add(row * tile.out_stride).cast::<[f32; PANEL]>() = *sums };
    }
}
