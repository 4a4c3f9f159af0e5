//! What each kernel moves and computes, in the sizes of the program, and what it took when it ran.

use std::collections::BTreeSet;

use fusebox_ir::{
    Plan,
    analysis::counts::{Polynomial, plan_traffic},
};
use serde::Serialize;

use super::about::Names;
use crate::{Error, Explanation, KernelTime, KernelTimes};

/// What a kernel moves and computes. Counts are polynomials in the names of sizes, over all launches that the plan writes down, each once.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct KernelMoves {
    /// Its position in the plan.
    pub kernel: usize,
    /// Its name.
    pub name: String,
    /// The results of the operations that it holds.
    pub operations: Vec<String>,
    /// Launches that the plan writes down.
    pub launches: usize,
    /// Whether one of them is in a loop or a branch, so that a run has more of it, or less.
    pub repeated: bool,
    /// Bytes of the elements read.
    pub bytes_read: Polynomial,
    /// Bytes of the elements written.
    pub bytes_written: Polynomial,
    /// Operations on floats.
    pub flops: Polynomial,
    /// What it took in a run, if that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time: Option<KernelTime>,
}

/// The kernels of a plan.
pub(super) fn kernels(plan: &Plan) -> Vec<KernelMoves> {
    let mut kernels: Vec<KernelMoves> = (plan.kernels.iter().enumerate())
        .map(|(position, kernel)| KernelMoves {
            kernel: position,
            name: kernel.name.0.clone(),
            operations: Vec::new(),
            launches: 0,
            repeated: false,
            bytes_read: Polynomial::default(),
            bytes_written: Polynomial::default(),
            flops: Polynomial::default(),
            time: None,
        })
        .collect();
    for launch in plan_traffic(plan).launches {
        let Some(kernel) = kernels.get_mut(launch.kernel) else { continue };
        kernel.launches += 1;
        kernel.repeated |= launch.depth > 0;
        kernel.bytes_read.add_assign(&launch.each.bytes_read);
        kernel.bytes_written.add_assign(&launch.each.bytes_written);
        kernel.flops.add_assign(&launch.each.flops);
    }
    kernels
}

impl Explanation {
    /// With what kernels took in a run of the same program, compiled in the same way.
    ///
    /// # Errors
    /// [`Error::OtherTimes`] if the kernels are others.
    pub fn with_times(mut self, times: &KernelTimes) -> Result<Self, Error> {
        for time in &times.kernels {
            let kernel = self.kernels.get_mut(time.kernel).filter(|kernel| kernel.name == time.name);
            let Some(kernel) = kernel else {
                let (program, kernel) = (self.program.clone(), time.name.clone());
                return Err(Error::OtherTimes { program, position: time.kernel, kernel });
            };
            kernel.time = Some(time.clone());
        }
        self.sizes = times.sizes.clone();
        Ok(self)
    }

    /// Fills in the operations that kernels hold.
    pub(super) fn name_kernels(&mut self) {
        let names = Names::new(self);
        for kernel in &mut self.kernels {
            kernel.operations = names.of_kernel(&kernel.name);
        }
    }

    /// Names of sizes, and of numbers that only a run knows, that kernels' counts are in, in order.
    pub(super) fn size_names(&self) -> Vec<String> {
        let counts = self.kernels.iter().flat_map(|kernel| [&kernel.bytes_read, &kernel.bytes_written, &kernel.flops]);
        let names: BTreeSet<&str> = counts.flat_map(Polynomial::names).collect();
        names.into_iter().map(str::to_owned).collect()
    }

    /// The value that a page begins with for a size: that of the run, if there was one.
    pub(super) fn size(&self, name: &str) -> i64 {
        self.sizes.get(name).copied().unwrap_or(USUAL)
    }
}

/// What a page takes for a size that nothing is known of.
const USUAL: i64 = 1024;

/// A number of bytes for people: `960 B`, `8.39 MB`.
pub(super) fn bytes(count: i64) -> String {
    scaled(count, "B")
}

/// A number of operations for people: `960`, `8.39 M`.
pub(super) fn operations(count: i64) -> String {
    scaled(count, "")
}

/// With three digits and a prefix where it is large. `page.js` does the same.
fn scaled(count: i64, unit: &str) -> String {
    let mut value = count as f64;
    if value.abs() < 1000.0 {
        return format!("{count} {unit}").trim_end().to_owned();
    }
    for prefix in ["k", "M", "G", "T", "P", "E"] {
        value /= 1000.0;
        if value.abs() < 999.5 || prefix == "E" {
            let digits = if value.abs() < 9.995 { 2 } else { usize::from(value.abs() < 99.95) };
            return format!("{value:.digits$} {prefix}{unit}");
        }
    }
    unreachable!("the last prefix takes what is left")
}

/// Bytes that a kernel read and wrote, by its time; `?` where they are not known.
pub(super) fn speed(time: &KernelTime) -> String {
    match (time.bytes_read, time.bytes_written) {
        (Some(read), Some(written)) if time.milliseconds > 0.0 => {
            format!("{:.2} GB/s", (read as f64 + written as f64) / time.milliseconds / 1e6)
        }
        _ => "?".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_for_people() {
        assert_eq!(
            [0, 999, 1000, 8_388_608, 99_949, 999_499, 999_500].map(bytes),
            ["0 B", "999 B", "1.00 kB", "8.39 MB", "99.9 kB", "999 kB", "1.00 MB"]
        );
        assert_eq!(operations(12), "12");
        assert_eq!(operations(i64::MAX), "9.22 E");
    }
}
