//! What is going on, on a terminal only.

use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// A line on standard error that says what is being done, if that is a terminal; gone when dropped.
pub(crate) struct Progress {
    bar: ProgressBar,
}

impl Progress {
    /// Nothing shows before something takes long enough to wonder.
    pub(crate) fn start() -> Self {
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
        if let Ok(style) = ProgressStyle::with_template("{spinner} {msg} ({elapsed})") {
            bar.set_style(style);
        }
        bar.enable_steady_tick(Duration::from_millis(200));
        Self { bar }
    }

    /// Says what is done now.
    pub(crate) fn step(&self, what: impl Into<String>) {
        self.bar.set_message(what.into());
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}
