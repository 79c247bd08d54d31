// SPDX-License-Identifier: Apache-2.0
//! Images made small, for a page.

use std::io::Cursor;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use image::{DynamicImage, ImageFormat, ImageReader, Limits};

/// Pixels of a side that an image may have.
const SIDE_MOST: u32 = 16_384;
/// Bytes that it may take when it is decoded: 80 million pixels.
const BYTES_MOST: u64 = 256 << 20;

/// An image that is small enough for a page, and needs no file beside it.
#[derive(Clone, Debug)]
pub struct Picture {
    pub(crate) size: (u32, u32),
    /// Width and height in pixels of the image that it was made of.
    pub(crate) of: (u32, u32),
    pub(crate) url: String,
}

impl Picture {
    /// Makes an image of `side` pixels at most, each the mean of those that it stands for.
    ///
    /// # Parameters
    /// `bytes`: a file, PNM or PNG; from elsewhere, so that it may be anything.
    ///
    /// # Returns
    /// None where it is no such image, is damaged, has more than 16,384 pixels a side, or more than
    /// 256 MiB of them.
    #[must_use]
    pub fn small(bytes: &[u8], side: u32) -> Option<Self> {
        Self::within(bytes, side, BYTES_MOST)
    }

    /// The same of an image that takes `most` bytes at most.
    fn within(bytes: &[u8], side: u32, most: u64) -> Option<Self> {
        let mut reader = ImageReader::new(Cursor::new(bytes));
        reader.set_format(image::guess_format(bytes).ok()?);
        let mut limits = Limits::default();
        (limits.max_image_width, limits.max_image_height) = (Some(SIDE_MOST), Some(SIDE_MOST));
        limits.max_alloc = Some(most);
        reader.limits(limits);
        let image = reader.decode().ok()?;
        let of = (image.width(), image.height());
        let small = match of.0.max(of.1) > side {
            true => image.thumbnail(side, side),
            false => image,
        };
        let small = DynamicImage::from(small.to_rgb8());
        let mut png = Cursor::new(Vec::new());
        small.write_to(&mut png, ImageFormat::Png).ok()?;
        let text = STANDARD.encode(png.into_inner());
        Some(Self {
            size: (small.width(), small.height()),
            of,
            url: format!("data:image/png;base64,{text}"),
        })
    }

    /// Pixels of the image that it was made of.
    #[must_use]
    pub fn pixels(&self) -> u64 {
        u64::from(self.of.0) * u64::from(self.of.1)
    }

    /// Whether a file that begins so may be one.
    #[must_use]
    pub fn may_be(beginning: &[u8]) -> bool {
        image::guess_format(beginning)
            .is_ok_and(|format| matches!(format, ImageFormat::Pnm | ImageFormat::Png))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ppm(width: usize, height: usize, level: u8) -> Vec<u8> {
        let mut file = format!("P6\n{width} {height}\n255\n").into_bytes();
        file.resize(file.len() + 3 * width * height, level);
        file
    }

    #[test]
    fn it_is_small_and_keeps_its_shape() {
        let picture = Picture::small(&ppm(200, 100, 7), 50).expect("an image");
        assert_eq!((picture.size, picture.of), ((50, 25), (200, 100)));
        assert!(picture.url.starts_with("data:image/png;base64,iVBOR"));
        let picture = Picture::small(&ppm(3, 1, 7), 50).expect("an image");
        assert_eq!(picture.size, (3, 1));
        let text = picture.url.split(',').next_back().expect("bytes");
        let png = STANDARD.decode(text).expect("base64");
        let again = image::load_from_memory(&png).expect("a PNG file");
        assert_eq!(again.to_rgb8().into_raw(), [7; 9]);
    }

    #[test]
    fn what_is_no_image_has_none() {
        let whole = ppm(9, 9, 1);
        for end in 0..whole.len() {
            assert!(Picture::small(&whole[..end], 8).is_none());
        }
        for file in [
            b"P6\n0 4\n255\n".as_slice(),
            b"P6\n4294967295 4294967295\n255\n....",
            b"P7\nWIDTH 1\n",
            b"\x89PNG\r\n\x1a\n",
            b"GIF89a",
        ] {
            assert!(Picture::small(file, 8).is_none(), "{file:?}");
        }
        // Whole files.
        assert!(Picture::small(&ppm(16_384, 1, 1), 8).is_some());
        assert!(Picture::small(&ppm(16_385, 1, 1), 8).is_none());
        assert!(Picture::within(&whole, 8, 3 * 81).is_some());
        assert!(Picture::within(&whole, 8, 3 * 81 - 1).is_none());
        assert!(Picture::may_be(&whole) && !Picture::may_be(b"GIF89a") && !Picture::may_be(b""));
    }
}
