//! When to sync: a pure account of interval, failures and webhooks. Times are given, never read.

use std::{collections::VecDeque, time::Duration};

use super::SyncConfig;

/// A webhook's pull waits this long, so that a burst of pushes makes one pull.
pub const WEBHOOK_DEBOUNCE: Duration = Duration::from_secs(60);
/// After this many failures in a row the pulls become rare.
const PATIENCE: u32 = 3;

/// When the next pull is due. All times count from the same moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Schedule {
    interval: Option<Duration>,
    backoff: Duration,
    failures: u32,
    /// When the schedule is next due.
    scheduled: Duration,
    /// When a webhook's pull is due.
    asked: Option<Duration>,
}

impl Schedule {
    /// A schedule whose first pull is due at once, if it runs at all.
    pub fn new(config: &SyncConfig, now: Duration) -> Self {
        Self {
            interval: config.enabled.then_some(config.interval),
            backoff: config.failure_backoff.max(config.interval),
            failures: 0,
            scheduled: now,
            asked: None,
        }
    }

    /// Goes on where an earlier process ended: the first pull is due at once all the same.
    pub fn resume(mut self, failures: u32) -> Self {
        self.failures = failures;
        self
    }

    /// When the next pull is due; never when nothing asks for one.
    pub fn due(&self) -> Option<Duration> {
        let scheduled = self.interval.map(|_| self.scheduled);
        match (scheduled, self.asked) {
            (Some(scheduled), Some(asked)) => Some(scheduled.min(asked)),
            (scheduled, asked) => scheduled.or(asked),
        }
    }

    /// A webhook asks for a pull. Several that wait become one.
    pub fn ask(&mut self, now: Duration) {
        self.asked.get_or_insert(now + WEBHOOK_DEBOUNCE);
    }

    /// Whether a webhook's pull waits.
    pub fn is_asked(&self) -> bool {
        self.asked.is_some()
    }

    /// A pull starts; what was asked for before is served by it.
    pub fn started(&mut self) {
        self.asked = None;
    }

    /// A pull ended.
    pub fn finished(&mut self, now: Duration, succeeded: bool) {
        self.failures = if succeeded { 0 } else { self.failures.saturating_add(1) };
        let interval = self.interval.unwrap_or(self.backoff);
        self.scheduled = now + if self.failures >= PATIENCE { self.backoff } else { interval };
    }

    /// Failures since the last success.
    pub fn failures(&self) -> u32 {
        self.failures
    }
}

/// Lets so many through in a minute.
#[derive(Debug, Clone)]
pub struct RateLimit {
    most: usize,
    passed: VecDeque<Duration>,
}

impl RateLimit {
    const WINDOW: Duration = Duration::from_secs(60);

    /// At most this many in any minute.
    pub fn per_minute(most: usize) -> Self {
        Self { most, passed: VecDeque::with_capacity(most) }
    }

    /// Whether one more may pass now; if so it is counted.
    pub fn pass(&mut self, now: Duration) -> bool {
        while self.passed.front().is_some_and(|first| now.saturating_sub(*first) >= Self::WINDOW) {
            self.passed.pop_front();
        }
        let free = self.passed.len() < self.most;
        if free {
            self.passed.push_back(now);
        }
        free
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn minutes(n: u64) -> Duration {
        Duration::from_secs(n * 60)
    }

    fn config(enabled: bool) -> SyncConfig {
        SyncConfig { enabled, ..SyncConfig::new("notes", "data") }
    }

    #[test]
    fn nothing_is_due_unless_turned_on_or_asked_for() {
        let mut schedule = Schedule::new(&config(false), minutes(0));
        assert_eq!(schedule.due(), None);
        schedule.ask(minutes(5));
        assert_eq!(schedule.due(), Some(minutes(6)));
        schedule.started();
        schedule.finished(minutes(7), true);
        assert_eq!(schedule.due(), None);
    }

    #[test]
    fn pulls_come_every_interval_and_rarely_after_three_failures() {
        let mut schedule = Schedule::new(&config(true), minutes(0));
        assert_eq!(schedule.due(), Some(minutes(0)));
        schedule.finished(minutes(1), true);
        assert_eq!(schedule.due(), Some(minutes(16)));
        for (now, due) in [(16, 31), (31, 46), (46, 106), (106, 166)] {
            schedule.started();
            schedule.finished(minutes(now), false);
            assert_eq!(schedule.due(), Some(minutes(due)));
        }
        assert_eq!(schedule.failures(), 4);
        schedule.finished(minutes(166), true);
        assert_eq!((schedule.failures(), schedule.due()), (0, Some(minutes(181))));
    }

    #[test]
    fn webhooks_that_wait_become_one_pull_a_minute_after_the_first() {
        let mut schedule = Schedule::new(&config(true), minutes(0));
        schedule.finished(minutes(0), true);
        for second in 0..50 {
            schedule.ask(minutes(1) + Duration::from_secs(second));
        }
        assert!(schedule.is_asked());
        assert_eq!(schedule.due(), Some(minutes(2)));
        schedule.started();
        schedule.finished(minutes(3), true);
        assert!(!schedule.is_asked());
        assert_eq!(schedule.due(), Some(minutes(18)));
    }

    #[test]
    fn so_many_pass_in_any_minute() {
        let mut limit = RateLimit::per_minute(60);
        for _ in 0..60 {
            assert!(limit.pass(minutes(1)));
        }
        assert!(!limit.pass(minutes(1) + Duration::from_secs(59)));
        assert!(limit.pass(minutes(2)));
    }
}
