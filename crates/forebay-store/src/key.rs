// SPDX-License-Identifier: Apache-2.0
//! Keys of encrypted recordings: that of the user, and the recording's own, which is derived from it.
//!
//! The recording's key is HKDF-SHA256 (RFC 5869) of the user's, with the recording UUID as salt and
//! `forebay AES-128-CTR` or `forebay AES-256-CTR` as info: no two recordings have the same, and so no
//! two bytes the same keystream.
//!
//! Buffers of keys, and AES's round keys, are zeroed when they are freed. What HKDF has on the stack is not.

use std::fmt;
use std::fs;
use std::io::Read as _;
use std::path::Path;

use aes::cipher::{KeyIvInit, StreamCipher, StreamCipherSeek};
use aes::{Aes128, Aes256};
use ctr::Ctr128BE;
use forebay_spec::store::Session;
use forebay_spec::store::schema::Cipher;
use forebay_spec::store::superblock::KEY_CHECK_BYTES;
use hkdf::Hkdf;
use sha2::Sha256;
use zeroize::Zeroizing;

use crate::{Error, Result};

/// What the bytes that tell keys from each other are derived by.
const CHECK_INFO: &[u8] = b"forebay key check";
/// Bytes of the longest key.
const LONGEST: u64 = 32;

/// A key of the user's.
#[derive(Clone, PartialEq, Eq)]
pub struct Key {
    bytes: Zeroizing<Vec<u8>>,
    cipher: Cipher,
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a key of {}", self.cipher.name())
    }
}

impl Key {
    /// Of its bytes, whose number says how long the keys of recordings are; none where it is no such
    /// number.
    #[must_use]
    pub fn new(bytes: &[u8]) -> Option<Self> {
        Some(Self {
            bytes: bytes.to_vec().into(),
            cipher: Cipher::of_key(bytes.len())?,
        })
    }

    /// Reads it from a file.
    ///
    /// # Errors
    /// A file that cannot be read, or has another number of bytes.
    pub fn read(path: &Path) -> Result<Self> {
        let failed = |source| Error::File {
            doing: "reading the key",
            path: path.to_owned(),
            source,
        };
        // With room to spare the vector does not grow, which would leave bytes behind.
        let mut bytes = Zeroizing::new(Vec::with_capacity(2 * LONGEST as usize + 1));
        let file = fs::File::open(path).map_err(failed)?;
        let mut file = file.take(LONGEST + 1);
        file.read_to_end(&mut bytes).map_err(failed)?;
        Self::new(&bytes)
            .ok_or_else(|| {
                let found = match bytes.len() as u64 > LONGEST {
                    true => format!("of more than {LONGEST} bytes"),
                    false => format!("of {} bytes", bytes.len()),
                };
                Error::setting(
                    "the key in the file",
                    found,
                    "it has 16 bytes (AES-128) or 32 (AES-256), as they are, no text",
                    "check that it is the right file; `openssl rand 32` makes a key",
                )
            })
            .and_then(|key| match key.bytes.iter().all(u8::is_ascii_hexdigit) {
                false => Ok(key),
                true => Err(Error::setting(
                    "the key in the file",
                    "hexadecimal text",
                    "it has the bytes as they are",
                    "`xxd -r -p` makes bytes of it",
                )),
            })
    }

    /// How recordings with it are encrypted.
    #[must_use]
    pub const fn cipher(&self) -> Cipher {
        self.cipher
    }

    /// The key of a recording.
    #[must_use]
    pub fn derive(&self, session: Session) -> RecordingKey {
        let hkdf = Hkdf::<Sha256>::new(Some(&session.0), &self.bytes);
        let mut bytes = Zeroizing::new(vec![0; self.cipher.key_bytes()]);
        let info = format!("forebay {}", self.cipher.name());
        let mut check = [0; KEY_CHECK_BYTES];
        let derived = hkdf.expand(info.as_bytes(), &mut bytes);
        let checked = hkdf.expand(CHECK_INFO, &mut check);
        debug_assert!(
            derived.is_ok() && checked.is_ok(),
            "shorter than 8,160 bytes"
        );
        RecordingKey {
            bytes,
            cipher: self.cipher,
            check,
        }
    }
}

/// The key of a recording.
#[derive(Clone, PartialEq, Eq)]
pub struct RecordingKey {
    bytes: Zeroizing<Vec<u8>>,
    cipher: Cipher,
    check: [u8; KEY_CHECK_BYTES],
}

impl fmt::Debug for RecordingKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a recording's key of {}", self.cipher.name())
    }
}

impl RecordingKey {
    /// What it is a key of.
    #[must_use]
    pub const fn cipher(&self) -> Cipher {
        self.cipher
    }

    /// Its bytes, for hardware.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Tells it from others, and nothing of it.
    #[must_use]
    pub const fn check(&self) -> [u8; KEY_CHECK_BYTES] {
        self.check
    }

    /// Encrypts or decrypts bytes of an object, the first of which stands at `offset` in it. Offsets are
    /// modulo 2^64, and so are blocks modulo 2^60, as hardware counts them.
    pub fn apply(&self, nonce: u64, offset: u64, bytes: &mut [u8]) {
        let before = (u64::MAX - offset).saturating_add(1);
        match usize::try_from(before) {
            Ok(before) if before < bytes.len() => {
                let (high, low) = bytes.split_at_mut(before);
                self.apply_within(nonce, offset, high);
                self.apply_within(nonce, 0, low);
            }
            _ => self.apply_within(nonce, offset, bytes),
        }
    }

    fn apply_within(&self, nonce: u64, offset: u64, bytes: &mut [u8]) {
        let mut block = [0; 16];
        block[..8].copy_from_slice(&nonce.to_be_bytes());
        block[8..].copy_from_slice(&(offset / 16).to_be_bytes());
        fn stream<C: KeyIvInit + StreamCipher + StreamCipherSeek>(
            key: &[u8],
            block: &[u8; 16],
            skipped: u64,
            bytes: &mut [u8],
        ) {
            // A key of another length there is not, by construction.
            if let Ok(mut cipher) = C::new_from_slices(key, block) {
                cipher.seek(skipped);
                cipher.apply_keystream(bytes);
            }
        }
        let apply = match self.cipher {
            Cipher::Aes128 => stream::<Ctr128BE<Aes128>>,
            Cipher::Aes256 => stream::<Ctr128BE<Aes256>>,
        };
        apply(&self.bytes, &block, offset % 16, bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(hex: &str) -> Vec<u8> {
        let digits: Vec<_> = hex.chars().filter_map(|c| c.to_digit(16)).collect();
        digits
            .chunks(2)
            .map(|two| (two[0] << 4 | two[1]) as u8)
            .collect()
    }

    /// As `openssl enc -aes-256-ctr -K 3661… -iv 00000000000000030000000000000005` gives it of 40 zeros.
    #[test]
    fn the_keystream_is_that_of_openssl() {
        let key = Key::new(&[1; 32])
            .expect("32 bytes")
            .derive(Session([2; 16]));
        let whole = bytes(
            "5b8bc8fbe1c1caad0b54c01e09377a05c3272e24bdd97634447894abd0d37a890cad484f5df5e55b",
        );
        for skipped in [0, 3, 15] {
            let mut zeros = [0; 20];
            key.apply(3, 5 * 16 + skipped, &mut zeros);
            assert_eq!(zeros, whole[skipped as usize..][..20]);
        }
    }

    #[test]
    fn bytes_can_be_read_from_anywhere_on() {
        let key = Key::new(&[7; 32])
            .expect("32 bytes")
            .derive(Session([9; 16]));
        for offset in [0, 1, 15, 16, 1 << 40, u64::MAX - 200, u64::MAX - 99] {
            let mut whole = [0; 200];
            key.apply(3, offset, &mut whole);
            for from in [1, 15, 16, 17, 100] {
                let mut part = [0; 50];
                key.apply(3, offset.wrapping_add(from), &mut part);
                assert_eq!(part, whole[from as usize..][..50], "{offset} + {from}");
            }
            let mut other = [0; 200];
            key.apply(4, offset, &mut other);
            assert_ne!(other, whole);
        }
    }

    /// As `openssl kdf -keylen 32 -kdfopt digest:SHA256 -kdfopt hexkey:0101… -kdfopt hexsalt:0202…
    /// -kdfopt info:"forebay AES-256-CTR" HKDF` gives it.
    #[test]
    fn a_recording_has_a_key_of_its_own() {
        let key = Key::new(&[1; 32]).expect("32 bytes");
        let own = key.derive(Session([2; 16]));
        assert_eq!(
            own.bytes(),
            bytes("36611fac7403ab7b6b7653990b1ea73526d5d3b587e60517a01a9911e132d5dd")
        );
        assert_ne!(own, key.derive(Session([3; 16])));
        assert_ne!(own.check(), key.derive(Session([3; 16])).check());
        let short = Key::new(&[1; 16])
            .expect("16 bytes")
            .derive(Session([2; 16]));
        assert_eq!(short.bytes(), bytes("9c2b201a34a36acb8ad8476ad0a1e476"));
        assert!(
            [0, 15, 17, 24, 33]
                .iter()
                .all(|n| Key::new(&vec![1; *n]).is_none())
        );
        assert_eq!(
            format!("{key:?}, {own:?}"),
            "a key of AES-256-CTR, a recording's key of AES-256-CTR"
        );
    }
}
