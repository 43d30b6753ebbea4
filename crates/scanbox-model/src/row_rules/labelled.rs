//! What labels of configs say, of many rows each.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::atomic::{AtomicU64, Ordering};

use rustc_hash::FxHashMap;

use crate::config::Config;
use crate::parameters::{Cells, Declaration, PARAMETERS, Value};

/// Labels that are kept. A space has fewer.
const KEPT: usize = 1 << 16;

thread_local! {
    /// The labels of all files that a thread reads: those of a fleet have the same ones.
    static KNOWN: RefCell<FxHashMap<String, Rc<Labelled>>> = RefCell::default();
}

/// How many labels were read, in all threads.
static READ: AtomicU64 = AtomicU64::new(0);

/// What follows from a label, whatever else a row says.
#[derive(Debug)]
pub struct Labelled {
    /// What it names.
    pub config: Config,
    /// The label of its kernel.
    pub kernel: String,
    /// No other one of this process has it.
    pub number: u64,
    /// What the last row of it said of its parameters, if that fits; without workgroups.
    fitting: Cell<Option<Cells>>,
}

impl Labelled {
    /// What this label says. It is read once.
    ///
    /// # Errors
    /// Why it names nothing.
    pub fn of(label: &str) -> Result<Rc<Self>, String> {
        KNOWN.with_borrow_mut(|known| {
            if let Some(labelled) = known.get(label) {
                return Ok(Rc::clone(labelled));
            }
            let config: Config = label.parse().map_err(|error| format!("{error}"))?;
            let kernel = config.kernel.to_string();
            let number = READ.fetch_add(1, Ordering::Relaxed);
            let labelled = Rc::new(Self { config, kernel, number, fitting: Cell::default() });
            if known.len() >= KEPT {
                known.clear();
            }
            known.insert(label.to_owned(), Rc::clone(&labelled));
            Ok(labelled)
        })
    }

    /// The first parameter of which these cells say something else, with what the label says.
    pub(super) fn misfit(&self, cells: &Cells) -> Option<(&'static Declaration, Value)> {
        // How many worked follows from the size, which is a rule of its own.
        let cells = Cells { workgroups: None, ..*cells };
        // Nearly all rows of a label say the same.
        if self.fitting.get() == Some(cells) {
            return None;
        }
        let said = PARAMETERS.iter().map(|parameter| (parameter, parameter.value(&self.config)));
        let misfit = said
            .filter(|(parameter, _)| parameter.name != "workgroups")
            .find(|(parameter, said)| !fits(parameter.cell(&cells), *said));
        if misfit.is_none() {
            self.fitting.set(Some(cells));
        }
        misfit
    }
}

/// Whether a cell of a parameter, where there is one, has what the label says.
fn fits(cell: Value, said: Value) -> bool {
    match (cell, said) {
        // The cell has what ran, never `auto`: a label with it leaves the choice to the device.
        (cell, Value::Word { word: "auto", .. }) => cell != said,
        // Words of one parameter differ by their places.
        (Value::Word { place, .. }, Value::Word { place: said, .. }) => place == said,
        (cell, said) => cell == Value::Open || cell == said,
    }
}
