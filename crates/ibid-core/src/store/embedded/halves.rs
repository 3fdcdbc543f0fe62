//! Half-precision numbers: the form in which vectors are kept.

/// Packs numbers as half-precision, little-endian, rounded to the nearest.
pub(super) fn to_halves(vector: &[f32]) -> Vec<u8> {
    vector.iter().flat_map(|&number| to_half(number).to_le_bytes()).collect()
}

/// Unpacks what [`to_halves`] packed; `None` if the bytes are cut off.
pub(super) fn from_halves(bytes: &[u8]) -> Option<Vec<f32>> {
    let (pairs, []) = bytes.as_chunks::<2>() else { return None };
    Some(pairs.iter().map(|&pair| from_half(u16::from_le_bytes(pair))).collect())
}

/// The inner product of a vector and a packed one; `None` if their lengths differ.
pub(super) fn dot(vector: &[f32], bytes: &[u8]) -> Option<f32> {
    let (pairs, []) = bytes.as_chunks::<2>() else { return None };
    if pairs.len() != vector.len() {
        return None;
    }
    Some(vector.iter().zip(pairs).map(|(a, &pair)| a * from_half(u16::from_le_bytes(pair))).sum())
}

fn to_half(number: f32) -> u16 {
    let bits = number.to_bits();
    let sign = (bits >> 16 & 0x8000) as u16;
    let fraction = bits & 0x007f_ffff;
    let exponent = (bits >> 23 & 0xff) as i32 - 127 + 15;
    if exponent >= 31 {
        let not_a_number = bits & 0x7fff_ffff > 0x7f80_0000;
        return sign | 0x7c00 | if not_a_number { 0x200 } else { 0 };
    }
    let (kept, dropped, shift) = if exponent > 0 {
        ((exponent as u32) << 10 | fraction >> 13, fraction & 0x1fff, 13)
    } else {
        // Too small for a normal number: the leading one becomes part of the fraction.
        let shift = (14 - exponent).min(25) as u32;
        let fraction = fraction | 0x0080_0000;
        (fraction >> shift, fraction & ((1 << shift) - 1), shift)
    };
    let middle = 1 << (shift - 1);
    let round_up = dropped > middle || (dropped == middle && kept & 1 == 1);
    sign | (kept + u32::from(round_up)) as u16
}

fn from_half(half: u16) -> f32 {
    let sign = u32::from(half & 0x8000) << 16;
    let exponent = u32::from(half >> 10 & 0x1f);
    let fraction = u32::from(half & 0x3ff);
    match exponent {
        0 => {
            let size = fraction as f32 * 2f32.powi(-24);
            if sign == 0 { size } else { -size }
        }
        31 => f32::from_bits(sign | 0x7f80_0000 | fraction << 13),
        _ => f32::from_bits(sign | (exponent + 127 - 15) << 23 | fraction << 13),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_half_survives_the_way_there_and_back() {
        for half in 0..=u16::MAX {
            let number = from_half(half);
            if number.is_nan() {
                assert!(from_half(to_half(number)).is_nan());
            } else {
                assert_eq!(to_half(number), half, "{number}");
            }
        }
    }

    #[test]
    fn numbers_are_rounded_to_the_nearest() {
        for number in [0.0, 1.0, -0.25, 0.1, 0.333_333, -0.052_31, 1e-4, 6e-8, 2e-8, 65_504.0] {
            let error = (from_half(to_half(number)) - number).abs();
            assert!(error <= number.abs() / 2048.0 + 3e-8, "{number}: {error}");
        }
        assert!(from_half(to_half(1e9)).is_infinite());
    }

    #[test]
    fn lengths_must_agree() {
        let packed = to_halves(&[0.5, -0.5, 1.0]);
        assert_eq!(from_halves(&packed), Some(vec![0.5, -0.5, 1.0]));
        assert_eq!(from_halves(&packed[1..]), None);
        assert_eq!(dot(&[2.0, 2.0, 1.0], &packed), Some(1.0));
        assert_eq!(dot(&[2.0, 2.0], &packed), None);
    }
}
