//! PNG images: gray `[h, w]`, channels inside `[h, w, c]`, or channels apart `img.r`, `img.g`, `img.b`, `img.a`.

use std::io::{BufWriter, Write};

use fusebox_ir::{Array, Constant, ElementType, round_to_f16};
use png::{BitDepth, ColorType, Decoder, Encoder, Transformations};

use super::{FileFault, error::unfit, fetch::Source};

/// The channels of images of one, two, three and four.
const CHANNELS: [&[&str]; 4] = [&["v"], &["v", "a"], &["r", "g", "b"], &["r", "g", "b", "a"]];

/// An image, of 8 or 16 bits a sample.
pub(super) struct Image {
    width: usize,
    height: usize,
    channels: usize,
    deep: bool,
    /// Rows from the top, channels beside each other, big-endian.
    samples: Vec<u8>,
}

fn wrong(why: impl ToString) -> FileFault {
    FileFault::Image { why: why.to_string() }
}

impl Image {
    pub fn read(source: Source) -> Result<Self, FileFault> {
        let file_size = source.size;
        let mut decoder = Decoder::new(source.reader);
        decoder.set_transformations(Transformations::EXPAND);
        let mut reader = decoder.read_info().map_err(wrong)?;
        let size = reader.output_buffer_size().ok_or_else(|| wrong("it is too large"))?;
        // Deflate makes at most 1,032 bytes of one, a palette of one bit four bytes a pixel: a larger image is not in the file.
        if size as u64 > file_size.saturating_mul(1032 * 32) {
            return Err(wrong(format!("{file_size} bytes cannot hold {size} bytes of samples")));
        }
        let mut samples = Vec::new();
        samples.try_reserve_exact(size).map_err(wrong)?;
        samples.resize(size, 0);
        let info = reader.next_frame(&mut samples).map_err(wrong)?;
        samples.truncate(info.buffer_size());
        let deep = match info.bit_depth {
            BitDepth::Sixteen => true,
            BitDepth::Eight => false,
            _ => return Err(wrong("its bit depth is unknown")),
        };
        let channels = info.color_type.samples();
        Ok(Self { width: info.width as usize, height: info.height as usize, channels, deep, samples })
    }

    /// What it is, in words.
    pub fn describe(&self) -> String {
        let names = CHANNELS[self.channels - 1].join(", ");
        let bits = if self.deep { 16 } else { 8 };
        format!("a PNG image of {} x {} pixels, channels {names}, {bits} bits", self.width, self.height)
    }

    /// Gray as `[h, w]`, or all channels as `[h, w, c]`.
    pub fn array(&self, element: ElementType, rank: usize) -> Result<Array, FileFault> {
        let extents: &[usize] = match rank {
            2 if self.channels == 1 => &[self.height, self.width],
            3 => &[self.height, self.width, self.channels],
            2 => return Err(unfit("an image of one channel", self.describe())),
            _ => return Err(unfit(format!("an array of rank {rank}"), self.describe())),
        };
        self.samples(element, extents, 0, 1)
    }

    /// One channel as `[h, w]`. A gray image is red, green and blue alike; one without alpha is opaque.
    pub fn channel(&self, name: &str, element: ElementType) -> Result<Array, FileFault> {
        let extents = [self.height, self.width];
        let gray = self.channels < 3;
        let at = match name {
            "v" | "r" | "g" | "b" if gray => 0,
            "r" if !gray => 0,
            "g" if !gray => 1,
            "b" if !gray => 2,
            "a" if self.has_alpha() => self.channels - 1,
            "a" => {
                let opaque = self.convert(element, if self.deep { u16::MAX } else { 255 })?;
                return Ok(Array::from_constants(element, &extents, &vec![opaque; self.height * self.width])?);
            }
            _ => return Err(FileFault::Missing { what: format!("channel `{name}`"), there: self.describe() }),
        };
        self.samples(element, &extents, at, self.channels)
    }

    /// Whether the image has an alpha channel, which must not get lost unseen.
    pub fn has_alpha(&self) -> bool {
        self.channels.is_multiple_of(2)
    }

    /// Every `step`-th sample from `first` on.
    fn samples(&self, element: ElementType, extents: &[usize], first: usize, step: usize) -> Result<Array, FileFault> {
        let mut array = Array::zeros(element, extents)?;
        let width = element.bytes();
        let table: Vec<Constant> = match self.deep {
            false => (0..=255).map(|sample| self.convert(element, sample)).collect::<Result<_, _>>()?,
            true => vec![self.convert(element, 0)?],
        };
        let bytes = array.bytes_mut();
        let sample_bytes = if self.deep { 2 } else { 1 };
        let samples = self.samples.chunks_exact(sample_bytes).skip(first).step_by(step);
        for (to, sample) in bytes.chunks_exact_mut(width).zip(samples) {
            let constant = match sample {
                [high, low] => self.convert(element, u16::from_be_bytes([*high, *low]))?,
                _ => table[usize::from(sample[0])],
            };
            to.copy_from_slice(&constant.bits().to_le_bytes()[..width]);
        }
        Ok(array)
    }

    /// A sample as an element: floats from 0 to 1, else the sample's own type.
    fn convert(&self, element: ElementType, sample: u16) -> Result<Constant, FileFault> {
        let most = if self.deep { 65535.0 } else { 255.0 };
        match element {
            ElementType::U8 if !self.deep => Ok((sample as u8).into()),
            ElementType::U16 if self.deep => Ok(sample.into()),
            ElementType::F16 => Ok(round_to_f16(f64::from(sample) / most).into()),
            ElementType::F32 => Ok((f32::from(sample) / most as f32).into()),
            ElementType::F64 => Ok((f64::from(sample) / most).into()),
            _ => {
                let own = if self.deep { "u16" } else { "u8" };
                Err(unfit(
                    format!("elements of {element}"),
                    format!("a PNG image, which gives {own} or floats from 0 to 1"),
                ))
            }
        }
    }
}

/// Writes `[h, w]` as gray, `[h, w, c]` as 1 to 4 channels: `u8` and `u16` as they are, floats from 0 to 1 and `bool` in 8 bits.
pub(super) fn write(out: &mut dyn Write, array: &Array) -> Result<(), FileFault> {
    match *array.extents() {
        [height, width] => encode(out, &[array], width, height, 1),
        [height, width, channels @ 1..=4] => encode(out, &[array], width, height, channels),
        _ => {
            let found = crate::signature::describe(array);
            Err(unfit("an array [h, w] or [h, w, c] of 1 to 4 channels, to be written as PNG", found))
        }
    }
}

/// Writes channels that are apart: of equal extents and type.
pub(super) fn write_channels(out: &mut dyn Write, planes: &[&Array]) -> Result<(), FileFault> {
    let first = planes.first().map(|plane| (plane.extents(), plane.element()));
    match first {
        Some(([height, width], element))
            if planes.len() <= 4
                && planes.iter().all(|plane| plane.extents() == [*height, *width] && plane.element() == element) =>
        {
            encode(out, planes, *width, *height, planes.len())
        }
        _ => Err(unfit("one to four channels [h, w] of one type, to be written as PNG", "others")),
    }
}

fn encode(
    out: &mut dyn Write,
    planes: &[&Array],
    width: usize,
    height: usize,
    channels: usize,
) -> Result<(), FileFault> {
    let size = |extent: usize| {
        u32::try_from(extent)
            .ok()
            .filter(|&extent| extent > 0)
            .ok_or_else(|| unfit("extents from 1 to 2^32 - 1", extent.to_string()))
    };
    let mut encoder = Encoder::new(BufWriter::new(out), size(width)?, size(height)?);
    encoder.set_color(match channels {
        1 => ColorType::Grayscale,
        2 => ColorType::GrayscaleAlpha,
        3 => ColorType::Rgb,
        _ => ColorType::Rgba,
    });
    let element = planes.first().map_or(ElementType::U8, |plane| plane.element());
    let deep = element == ElementType::U16;
    encoder.set_depth(if deep { BitDepth::Sixteen } else { BitDepth::Eight });
    let sample = |constant: Constant| -> Option<u16> {
        match element {
            ElementType::U8 | ElementType::U16 => constant.as_i64().map(|sample| sample as u16),
            ElementType::Bool => constant.as_bool().map(|bit| if bit { 255 } else { 0 }),
            // NaN becomes 0.
            _ => constant.as_f64().map(|value| (value.clamp(0.0, 1.0) * 255.0).round_ties_even() as u16),
        }
    };
    let count = planes.first().map_or(0, |plane| plane.len());
    let mut bytes = Vec::with_capacity(count * planes.len() * if deep { 2 } else { 1 });
    for position in 0..count {
        for plane in planes {
            let sample = sample(plane.get(position)).ok_or_else(|| {
                unfit("elements of u8, u16, bool or floats, to be written as PNG", element.to_string())
            })?;
            if deep {
                bytes.extend(sample.to_be_bytes());
            } else {
                bytes.push(sample as u8);
            }
        }
    }
    let wrong = |error: png::EncodingError| match error {
        png::EncodingError::IoError(error) => FileFault::Io(error),
        other => wrong(other),
    };
    let mut writer = encoder.write_header().map_err(wrong)?;
    writer.write_image_data(&bytes).map_err(wrong)?;
    writer.finish().map_err(wrong)
}
