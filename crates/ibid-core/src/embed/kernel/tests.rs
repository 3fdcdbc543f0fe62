//! Every kernel against plain arithmetic.

#![allow(clippy::float_cmp, reason = "what is the same must be the same to the last bit")]

use super::*;

/// Numbers that look random and are the same in every run.
fn numbers(seed: u64) -> impl Iterator<Item = u64> {
    let mut state = seed;
    std::iter::repeat_with(move || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        state >> 33
    })
}

#[test]
fn linear_layers_are_exact_in_every_kernel() {
    let check = |kernel: &Kernel, rows: usize, inputs: usize, outputs: usize, extreme: bool| {
        let limit = math::activation_limit(inputs) as i64;
        let value = |random: u64| match random % 3 {
            _ if !extreme => (random as i64 % (2 * limit)) - limit,
            0 => -limit,
            _ => limit,
        };
        let activations: Vec<i16> =
            numbers(1).map(|random| value(random) as i16).take(rows * inputs).collect();
        let weight = |random: u64| if extreme { 127 } else { (random % 255) as i16 as i8 };
        let plain: Vec<i8> = numbers(2).map(weight).take(outputs * inputs).collect();
        let mut panels = vec![0_u8; outputs * inputs];
        for output in 0..outputs {
            for input in 0..inputs {
                let place =
                    output / PANEL * PANEL * inputs + input / 2 * 2 * PANEL + output % PANEL * 2 + input % 2;
                panels[place] = plain[output * inputs + input].cast_unsigned();
            }
        }
        let scales: Vec<f32> = numbers(3).map(|random| (random % 100 + 1) as f32).take(outputs).collect();
        let bias: Vec<f32> = numbers(4).map(|random| random as f32 / 1e9).take(outputs).collect();
        let row_scales: Vec<f32> =
            numbers(5).map(|random| (random % 9 + 1) as f32 / 1e4).take(rows).collect();
        let mut out = vec![f32::NAN; rows * outputs];
        let layer = LinearView { inputs, outputs, panels: &panels, scales: &scales, bias: &bias };
        kernel.linear(layer, rows, &activations, &row_scales, &mut out);
        for row in 0..rows {
            for output in 0..outputs {
                let sum: i64 = (0..inputs)
                    .map(|input| {
                        i64::from(activations[row * inputs + input])
                            * i64::from(plain[output * inputs + input])
                    })
                    .sum();
                let sum = i32::try_from(sum).unwrap();
                let expected = sum as f32 * (scales[output] * row_scales[row]) + bias[output];
                assert_eq!(
                    out[row * outputs + output],
                    expected,
                    "{} row {row} output {output}",
                    kernel.name
                );
            }
        }
    };
    for kernel in available() {
        for rows in [1, 2, 3, 5, 6, 7, 13, 16, 17, 33, 97] {
            check(kernel, rows, 32, 48, false);
        }
        check(kernel, 17, 38, 16, false);
        check(kernel, 4, 384, 16, true);
        check(kernel, 3, 1536, 32, true);
        check(kernel, 2, 3072, 16, true);
    }
}

#[test]
fn products_agree_in_every_kernel() {
    let check = |kernel: &Kernel, count: usize, depth: usize| {
        let (left_stride, out_stride) = (depth + 5, PANEL + 3);
        let number = |random: u64| (random % 2_001) as f32 / 1_000.0 - 1.0;
        let left: Vec<f32> = numbers(6).map(number).take(2 + count * left_stride).collect();
        let panel: Vec<f32> = numbers(7).map(number).take(depth * PANEL).collect();
        let mut out = vec![9.0; 1 + count * out_stride];
        let left_rows = Rows { start: 2, stride: left_stride, count };
        kernel.product(&left, left_rows, &panel, &mut out, Rows { start: 1, stride: out_stride, count });
        for row in 0..count {
            for column in 0..PANEL {
                let expected: f32 =
                    (0..depth).map(|k| left[2 + row * left_stride + k] * panel[k * PANEL + column]).sum();
                let found = out[1 + row * out_stride + column];
                assert!(
                    (found - expected).abs() < 1e-3,
                    "{} {row} {column}: {found} {expected}",
                    kernel.name
                );
            }
            // What lies between the rows is not touched.
            assert!(out[1 + row * out_stride + PANEL..].iter().take(out_stride - PANEL).all(|v| *v == 9.0));
        }
    };
    for kernel in available() {
        for (count, depth) in [(1, 1), (2, 32), (5, 7), (6, 64), (24, 100), (25, 33)] {
            check(kernel, count, depth);
        }
    }
}

#[test]
#[cfg(target_arch = "x86_64")]
fn wide_kernels_give_the_same_products_to_the_last_bit() {
    let number = |random: u64| (random % 2_001) as f32 / 1_000.0 - 1.0;
    let (count, depth) = (35, 100);
    let left: Vec<f32> = numbers(8).map(number).take(count * depth).collect();
    let panel: Vec<f32> = numbers(9).map(number).take(depth * PANEL).collect();
    let mut found: Vec<Vec<f32>> = Vec::new();
    for kernel in available().filter(|kernel| kernel.name.starts_with("avx")) {
        let mut out = vec![0.0; count * PANEL];
        let left_rows = Rows { start: 0, stride: depth, count };
        kernel.product(&left, left_rows, &panel, &mut out, Rows { start: 0, stride: PANEL, count });
        found.push(out);
    }
    assert!(found.windows(2).all(|pair| pair[0] == pair[1]));
}

#[test]
fn elementwise_functions_follow_their_definitions() {
    for kernel in available() {
        // Values of the error function from a table.
        let mut values = [-4.0, -1.0, -0.5, 0.0, 0.5, 1.0, 2.0, 6.0];
        kernel.gelu(&mut values);
        let expected = [-0.000_126_7, -0.158_655, -0.154_269, 0.0, 0.345_731, 0.841_345, 1.954_5, 6.0];
        for (value, expected) in values.iter().zip(expected) {
            assert!((value - expected).abs() < 1e-5, "{}: {value} {expected}", kernel.name);
        }

        let mut rows: Vec<f32> = (0..32).map(|value| value as f32 / 7.0).collect();
        kernel.softmax(&mut rows, 16, 11);
        for (index, row) in rows.chunks(16).enumerate() {
            let sum: f32 = row.iter().sum();
            assert!((sum - 1.0).abs() < 1e-5 && row[11..].iter().all(|value| *value < 1e-12), "{index}");
            assert!((row[10] / row[9] - (1.0_f32 / 7.0).exp()).abs() < 1e-5);
        }

        let mut rows: Vec<f32> = (0..64).map(|value| ((value * 37) % 64) as f32).collect();
        let addend = vec![1.0; 64];
        kernel.normalise(&mut rows, Some(&addend), &[2.0; 32], &[3.0; 32], 1e-12);
        for row in rows.chunks(32) {
            let mean = row.iter().sum::<f32>() / 32.0;
            let variance = row.iter().map(|value| (value - mean).powi(2)).sum::<f32>() / 32.0;
            assert!((mean - 3.0).abs() < 1e-4 && (variance - 4.0).abs() < 1e-3, "{mean} {variance}");
        }

        let rows: Vec<f32> = (0..64).map(|value| value as f32 - 20.0).collect();
        let (mut rounded, mut scales) = (vec![0_i16; 64], vec![0.0; 2]);
        kernel.quantise(&rows, 32, &mut rounded, &mut scales);
        for (index, (value, rounded)) in rows.iter().zip(&rounded).enumerate() {
            assert!(
                (f32::from(*rounded) * scales[index / 32] - value).abs() <= scales[index / 32],
                "{value}"
            );
        }
    }
}

#[test]
fn the_best_kernel_uses_the_processor() {
    let native = cfg!(any(target_arch = "x86_64", target_arch = "aarch64"));
    assert_eq!(best().name != "portable", native);
    assert_eq!(available().last().map(|kernel| kernel.name), Some("portable"));
}
