//! One time per row, on one scale: what a sweep with `--confirm` says.
//!
//! The leaders of a size, and what the answers name, were measured again in alternating blocks; all others once, in
//! the sweep. The two cannot stand side by side as they are: of many configs that are measured once each, the one
//! that looks fastest was in part lucky, and the device may have become slower or faster as a whole. So a row has the
//! time of its confirmation where it has one, and elsewhere its time in the sweep times the *scale* of its size: what
//! the confirmation found of the rows that the sweep showed as the fastest, over what the sweep found of them, as the
//! median of these ratios.
//!
//! The rows that the scale is from are the confirmed ones that no unconfirmed row was faster than in the sweep. One
//! of them at least has a ratio no higher than the scale, and was no slower than any unconfirmed row; so no
//! unconfirmed row comes out faster than the fastest confirmed one. The winner of a size is the smallest time, and it
//! is confirmed. Where an unconfirmed row was the fastest of the sweep (it went on after its confirmation), the
//! confirmation says nothing of it: the times of the sweep count for the whole size, until it is confirmed again.

/// How the reason of a row begins that was `ok` until it failed in its confirmation.
pub const FAILED_IN_CONFIRMATION: &str = "in the confirmation: ";

/// Times of one size on one scale.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TimeScale {
    /// Those of the sweep.
    Sweep,
    /// Those of the confirmation: what it found of a row, over what the sweep found of it.
    Confirmed {
        /// Nanoseconds by the confirmation.
        confirmed_ns: u64,
        /// Nanoseconds in the sweep, above zero.
        sweep_ns: u64,
    },
}

impl TimeScale {
    /// The scale of rows of one size: for each its time in the sweep, above zero, and by the confirmation.
    #[must_use]
    pub fn of(rows: impl IntoIterator<Item = (u64, Option<u64>)>) -> Self {
        let mut fastest_unconfirmed = u64::MAX;
        let mut confirmed: Vec<(u64, u64)> = Vec::new();
        for (sweep_ns, confirmation) in rows {
            match confirmation {
                Some(confirmed_ns) => confirmed.push((confirmed_ns, sweep_ns)),
                None => fastest_unconfirmed = fastest_unconfirmed.min(sweep_ns),
            }
        }
        confirmed.retain(|&(_, sweep_ns)| sweep_ns <= fastest_unconfirmed);
        let ratio = |&(confirmed_ns, sweep_ns): &(u64, u64)| confirmed_ns as f64 / sweep_ns.max(1) as f64;
        confirmed.sort_by(|a, b| ratio(a).total_cmp(&ratio(b)).then(a.cmp(b)));
        // Of an even number the lower one in the middle: a ratio that was measured.
        match confirmed.get(confirmed.len().saturating_sub(1) / 2) {
            Some(&(confirmed_ns, sweep_ns)) => Self::Confirmed { confirmed_ns, sweep_ns: sweep_ns.max(1) },
            None => Self::Sweep,
        }
    }

    /// Whether confirmed times count.
    #[must_use]
    pub fn is_confirmed(self) -> bool {
        self != Self::Sweep
    }

    /// The time of a row on this scale, in nanoseconds.
    #[must_use]
    pub fn time_ns(self, sweep_ns: u64, confirmed: Option<u64>) -> f64 {
        match (self, confirmed) {
            (Self::Sweep, _) => sweep_ns as f64,
            (Self::Confirmed { .. }, Some(confirmed_ns)) => confirmed_ns as f64,
            (Self::Confirmed { confirmed_ns, sweep_ns: of }, None) => {
                // In whole numbers, so that rounding puts no row before another one.
                let product = u128::from(sweep_ns) * u128::from(confirmed_ns);
                let of = u128::from(of);
                (product / of) as f64 + (product % of) as f64 / of as f64
            }
        }
    }
}
