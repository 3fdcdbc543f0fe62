//! Resampling: how far a mean would move had other questions been asked.

/// Resamples drawn; more do not move the third decimal.
const RESAMPLES: usize = 1_000;

/// The bounds that hold 95 of 100 means of resamples. The drawing is seeded: equal input gives equal output.
pub(super) fn interval(values: &[f64]) -> (f64, f64) {
    if values.is_empty() {
        return (0.0, 0.0);
    }
    let mut state = 0x9E37_79B9_7F4A_7C15_u64;
    let mut random = || {
        // splitmix64: enough for resampling.
        state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = state;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    };
    let mut means: Vec<f64> = (0..RESAMPLES)
        .map(|_| {
            let drawn = (0..values.len()).map(|_| values[(random() % values.len() as u64) as usize]);
            drawn.sum::<f64>() / values.len() as f64
        })
        .collect();
    means.sort_by(f64::total_cmp);
    (means[RESAMPLES * 25 / 1000], means[RESAMPLES * 975 / 1000])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_interval_holds_the_mean_and_is_the_same_every_time() {
        let values: Vec<f64> = (0..200).map(|number| f64::from(number % 7) / 7.0).collect();
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        let (low, high) = interval(&values);
        assert!(low < mean && mean < high && high - low < 0.1, "{low} {mean} {high}");
        assert_eq!(interval(&values), (low, high));
    }

    #[test]
    fn equal_values_leave_nothing_to_chance() {
        assert_eq!(interval(&[0.5; 10]), (0.5, 0.5));
        assert_eq!(interval(&[]), (0.0, 0.0));
    }
}
