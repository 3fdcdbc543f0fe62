//! Scan kernels, chosen at run time for the processor at hand.

#![allow(unsafe_code)]
#![allow(clippy::cast_ptr_alignment, reason = "loads and stores are those that need no alignment")]

/// Codes of a row come in multiples of this.
pub(super) const STEP: usize = 32;

/// The functions of one instruction set; only reachable when the processor has the instructions.
pub(super) struct Kernel {
    #[cfg(test)]
    name: &'static str,
    dot: unsafe fn(&[i16], &[u8]) -> i32,
    distance: unsafe fn(&[u64], &[u8]) -> u16,
    distances: unsafe fn(&[u64], &[u8], &mut Vec<u16>),
}

/// The largest number a query is scaled to: sums over `dimensions` products with 8-bit codes fit into 32 bits.
pub(super) fn query_limit(dimensions: usize) -> f32 {
    let most = i32::MAX as usize / (127 * dimensions.max(1));
    most.min(i16::MAX as usize) as f32
}

/// The best kernel for this processor.
pub(super) fn best() -> &'static Kernel {
    available().next().unwrap_or(&PORTABLE)
}

/// Every kernel that this processor can run, best first.
pub(super) fn available() -> impl Iterator<Item = &'static Kernel> {
    #[cfg(target_arch = "x86_64")]
    let native = {
        let wide =
            std::arch::is_x86_feature_detected!("avx2") && std::arch::is_x86_feature_detected!("popcnt");
        [wide.then_some(&x86::AVX2), Some(&x86::SSE2)]
    };
    #[cfg(target_arch = "aarch64")]
    let native = [Some(&arm::NEON)];
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    let native: [Option<&'static Kernel>; 0] = [];
    native.into_iter().flatten().chain([&PORTABLE])
}

impl Kernel {
    /// Sum of products of a query and the codes of a row; both have the same length, a multiple of `STEP`.
    pub(super) fn dot(&self, query: &[i16], codes: &[u8]) -> i32 {
        assert!(
            query.len() == codes.len() && query.len().is_multiple_of(STEP),
            "rows and queries have the same length"
        );
        // SAFETY: the lengths agree; the kernel is only reachable when the processor has its instructions.
        unsafe { (self.dot)(query, codes) }
    }

    /// In how many bits a query and a row differ.
    pub(super) fn distance(&self, query: &[u64], signs: &[u8]) -> u16 {
        // SAFETY: the kernel is only reachable when the processor has its instructions.
        unsafe { (self.distance)(query, signs) }
    }

    /// The same for all rows, appended in order.
    pub(super) fn distances(&self, query: &[u64], signs: &[u8], out: &mut Vec<u16>) {
        // SAFETY: as above.
        unsafe { (self.distances)(query, signs, out) }
    }
}

static PORTABLE: Kernel = Kernel {
    #[cfg(test)]
    name: "portable",
    dot: plain_dot,
    distance,
    distances,
};

fn plain_dot(query: &[i16], codes: &[u8]) -> i32 {
    query.iter().zip(codes).map(|(query, code)| i32::from(*query) * i32::from(code.cast_signed())).sum()
}

/// Defines the functions on sign bits, compiled for an instruction set.
macro_rules! sign_functions {
    ($($feature:literal)?) => {
        $(#[target_feature(enable = $feature)])?
        fn distance(query: &[u64], signs: &[u8]) -> u16 {
            differing_bits(query, signs)
        }

        $(#[target_feature(enable = $feature)])?
        fn distances(query: &[u64], signs: &[u8], out: &mut Vec<u16>) {
            let rows = signs.chunks_exact((query.len() * 8).max(8));
            out.extend(rows.map(|row| differing_bits(query, row)));
        }
    };
}

#[inline(always)]
#[expect(clippy::inline_always, reason = "it must be compiled with the instructions of its caller")]
fn differing_bits(query: &[u64], signs: &[u8]) -> u16 {
    let mut sum = 0;
    for (query, bytes) in query.iter().zip(signs.chunks_exact(8)) {
        let mut word = [0; 8];
        word.copy_from_slice(bytes);
        sum += (query ^ u64::from_le_bytes(word)).count_ones();
    }
    sum as u16
}

sign_functions!();

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::{
        __m128i, __m256i, _mm_add_epi32, _mm_loadu_si128, _mm_madd_epi16, _mm_setzero_si128, _mm_srai_epi16,
        _mm_storeu_si128, _mm_unpackhi_epi8, _mm_unpacklo_epi8, _mm256_add_epi32, _mm256_cvtepi8_epi16,
        _mm256_loadu_si256, _mm256_madd_epi16, _mm256_setzero_si256, _mm256_storeu_si256,
    };

    use super::{Kernel, STEP, differing_bits};

    pub(super) static AVX2: Kernel = Kernel {
        #[cfg(test)]
        name: "avx2",
        dot: dot_avx2,
        distance,
        distances,
    };
    pub(super) static SSE2: Kernel = Kernel {
        #[cfg(test)]
        name: "sse2",
        dot: dot_sse2,
        distance: super::distance,
        distances: super::distances,
    };

    sign_functions!("avx2,popcnt");

    /// # Safety
    /// Both slices have the same length, a multiple of `STEP`.
    #[target_feature(enable = "avx2")]
    unsafe fn dot_avx2(query: &[i16], codes: &[u8]) -> i32 {
        let mut sums = [_mm256_setzero_si256(); 2];
        let (query, bytes) = (query.as_ptr(), codes.as_ptr());
        for at in (0..codes.len()).step_by(STEP) {
            for (half, sum) in sums.iter_mut().enumerate() {
                let at = at + half * STEP / 2;
                // SAFETY: sixteen numbers from `at` on lie inside both slices.
                unsafe {
                    let codes = _mm256_cvtepi8_epi16(_mm_loadu_si128(bytes.add(at).cast::<__m128i>()));
                    let query = _mm256_loadu_si256(query.add(at).cast::<__m256i>());
                    *sum = _mm256_add_epi32(*sum, _mm256_madd_epi16(query, codes));
                }
            }
        }
        let mut lanes = [0_i32; 8];
        let sum = _mm256_add_epi32(sums[0], sums[1]);
        // SAFETY: the array has room for 256 bits.
        unsafe { _mm256_storeu_si256(lanes.as_mut_ptr().cast::<__m256i>(), sum) }
        lanes.iter().sum()
    }

    /// # Safety
    /// Both slices have the same length, a multiple of `STEP`.
    unsafe fn dot_sse2(query: &[i16], codes: &[u8]) -> i32 {
        let mut lanes = [0_i32; 4];
        // SAFETY: every 64-bit x86 processor has SSE2; sixteen numbers from `at` on lie inside both slices, and
        // the array has room for 128 bits.
        unsafe {
            let mut sum = _mm_setzero_si128();
            for at in (0..codes.len()).step_by(16) {
                let bytes = _mm_loadu_si128(codes.as_ptr().add(at).cast::<__m128i>());
                let query = query.as_ptr().add(at).cast::<__m128i>();
                // A byte doubled and shifted down again is the byte with its sign in sixteen bits.
                let low = _mm_srai_epi16::<8>(_mm_unpacklo_epi8(bytes, bytes));
                let high = _mm_srai_epi16::<8>(_mm_unpackhi_epi8(bytes, bytes));
                sum = _mm_add_epi32(sum, _mm_madd_epi16(_mm_loadu_si128(query), low));
                sum = _mm_add_epi32(sum, _mm_madd_epi16(_mm_loadu_si128(query.add(1)), high));
            }
            _mm_storeu_si128(lanes.as_mut_ptr().cast::<__m128i>(), sum);
        }
        lanes.iter().sum()
    }
}

#[cfg(target_arch = "aarch64")]
mod arm {
    use std::arch::aarch64::{
        vaddvq_s32, vdupq_n_s32, vget_low_s8, vget_low_s16, vld1q_s8, vld1q_s16, vmlal_high_s16, vmlal_s16,
        vmovl_high_s8, vmovl_s8,
    };

    use super::Kernel;

    pub(super) static NEON: Kernel = Kernel {
        #[cfg(test)]
        name: "neon",
        dot,
        distance: super::distance,
        distances: super::distances,
    };

    /// # Safety
    /// Both slices have the same length, a multiple of sixteen.
    unsafe fn dot(query: &[i16], codes: &[u8]) -> i32 {
        // SAFETY: every 64-bit Arm processor has NEON; sixteen numbers from `at` on lie inside both slices.
        unsafe {
            let mut sums = [vdupq_n_s32(0); 2];
            for at in (0..codes.len()).step_by(16) {
                let bytes = vld1q_s8(codes.as_ptr().add(at).cast());
                for (half, wide) in
                    [vmovl_s8(vget_low_s8(bytes)), vmovl_high_s8(bytes)].into_iter().enumerate()
                {
                    let query = vld1q_s16(query.as_ptr().add(at + 8 * half));
                    sums[0] = vmlal_s16(sums[0], vget_low_s16(query), vget_low_s16(wide));
                    sums[1] = vmlal_high_s16(sums[1], query, wide);
                }
            }
            vaddvq_s32(sums[0]) + vaddvq_s32(sums[1])
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kernel_gives_the_same_sums_and_distances() {
        for length in [32, 64, 384, 416, 1_024] {
            let limit = query_limit(length) as i64;
            let query: Vec<i16> =
                (0..length as i64).map(|at| ((at * 7_919) % (2 * limit + 1) - limit) as i16).collect();
            let codes: Vec<u8> = (0..length).map(|at| (at * 31 % 255) as u8).collect();
            let sum: i64 = query
                .iter()
                .zip(&codes)
                .map(|(query, code)| i64::from(*query) * i64::from(code.cast_signed()))
                .sum();
            let words: Vec<u64> =
                (0..length as u64 / 32).map(|at| at.wrapping_mul(0x9E37_79B9_7F4A_7C15)).collect();
            let signs: Vec<u8> = (0..3 * words.len() * 8).map(|at| (at * 89 % 256) as u8).collect();
            for kernel in available() {
                assert_eq!(i64::from(kernel.dot(&query, &codes)), sum, "{}", kernel.name);
                let mut all = Vec::new();
                kernel.distances(&words, &signs, &mut all);
                let single = signs.chunks(words.len() * 8).map(|row| kernel.distance(&words, row));
                assert_eq!(single.collect::<Vec<u16>>(), all, "{}", kernel.name);
                let first: u32 = (0..words.len() * 64)
                    .map(|bit| {
                        u32::from(
                            words[bit / 64] >> (bit % 64) & 1 != u64::from(signs[bit / 8] >> (bit % 8) & 1),
                        )
                    })
                    .sum();
                assert_eq!(u32::from(all[0]), first, "{}", kernel.name);
            }
        }
    }

    #[test]
    fn the_largest_sums_fit() {
        for length in [384, 1_536, 4_096] {
            let query = vec![query_limit(length) as i16; length];
            let codes = vec![(-127_i8).cast_unsigned(); length];
            for kernel in available() {
                assert_eq!(kernel.dot(&query, &codes), -127 * length as i32 * i32::from(query[0]));
            }
        }
    }
}
