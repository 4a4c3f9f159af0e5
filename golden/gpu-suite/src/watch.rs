//! How long a device works, by its own clock where it has one.

use std::time::{Duration, Instant};

use fusebox_cuda::Cuda;
use fusebox_ptx::{Device, DeviceError, sim::Simulator};

/// A device whose work can be timed.
pub(crate) trait Watch: Device {
    /// A point in the work of a queue.
    type Point: Send;

    /// A point after all work of a queue so far.
    fn point(&self, queue: &Self::Queue) -> Result<Self::Point, DeviceError>;

    /// How long the device took from one point to another; the work between is waited for.
    fn between(&self, first: &Self::Point, last: &Self::Point) -> Result<Duration, DeviceError>;
}

/// By events of the stream: what the host does in between takes no time.
impl Watch for Cuda {
    type Point = fusebox_cuda::Event;

    fn point(&self, queue: &Self::Queue) -> Result<Self::Point, DeviceError> {
        Ok(queue.record()?)
    }

    fn between(&self, first: &Self::Point, last: &Self::Point) -> Result<Duration, DeviceError> {
        last.wait()?;
        let seconds = f64::from(last.since(first)?) / 1e3;
        Duration::try_from_secs_f64(seconds).map_err(|error| DeviceError { message: error.to_string() })
    }
}

/// By the clock of the host, as the work is done when it is asked for.
impl Watch for Simulator {
    type Point = Instant;

    fn point(&self, (): &()) -> Result<Instant, DeviceError> {
        Ok(Instant::now())
    }

    fn between(&self, first: &Instant, last: &Instant) -> Result<Duration, DeviceError> {
        Ok(last.saturating_duration_since(*first))
    }
}
