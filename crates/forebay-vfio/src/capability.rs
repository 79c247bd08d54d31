// SPDX-License-Identifier: Apache-2.0
//! What decides about peer-to-peer traffic in configuration space.
//!
//! Section numbers are of *PCI Express Base 5.0*.

use forebay_spec::pci::{capability, offset, status};
use serde::Serialize;

/// Where the extended capabilities begin.
const EXTENDED: usize = 0x100;
/// Identifier of Access Control Services.
const ACS: u16 = 0x000d;

/// Packet sizes in bytes (7.5.3.3, 7.5.3.4), and what else Device Control allows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Sizes {
    /// Greatest payload that the function can take.
    pub payload_supported: u32,
    /// Greatest payload that it may send (MPS).
    pub payload: u32,
    /// Greatest read that it may ask for (MRRS).
    pub read_request: u32,
    /// Its writes may pass one another where it marks them so (2.4.1).
    pub relaxed_ordering: bool,
}

/// Access Control Services (7.7.8) that are switched on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Acs {
    /// Requests to peers go up to the root first.
    pub request_redirect: bool,
    /// So do completions.
    pub completion_redirect: bool,
    /// What comes from below and leads below is sent up.
    pub upstream_forwarding: bool,
}

impl Acs {
    /// Whether peers' traffic is led through the root, where the IOMMU sees it.
    pub const fn redirects(self) -> bool {
        self.request_redirect || self.upstream_forwarding
    }
}

fn u16_at(config: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_le_bytes(*config.get(at..)?.first_chunk()?))
}

fn u32_at(config: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(*config.get(at..)?.first_chunk()?))
}

/// Packet sizes; none where the function is not PCI Express, or the capability is not readable.
pub fn sizes(config: &[u8]) -> Option<Sizes> {
    let listed = u16_at(config, offset::STATUS.into())? & status::CAPABILITY_LIST != 0;
    let mut at = usize::from(*config.get(usize::from(offset::CAPABILITIES))? & 0xfc);
    // Each entry takes 4 bytes at least: a list that is longer runs in a circle.
    for _ in 0..EXTENDED / 4 {
        if !listed || at < 0x40 {
            return None;
        }
        if *config.get(at)? == capability::PCI_EXPRESS {
            let able = u32_at(config, at + 4)?;
            let control = u16_at(config, at + 8)?;
            return Some(Sizes {
                payload_supported: 128 << (able & 7),
                payload: 128 << (control >> 5 & 7),
                read_request: 128 << (control >> 12 & 7),
                relaxed_ordering: control & 1 << 4 != 0,
            });
        }
        at = usize::from(*config.get(at + 1)? & 0xfc);
    }
    None
}

/// Access Control Services; none where the function has none, or only root could read them.
pub fn acs(config: &[u8]) -> Option<Acs> {
    let mut at = EXTENDED;
    for _ in 0..config.len() / 4 {
        let head = u32_at(config, at)?;
        if head as u16 == ACS {
            let control = u16_at(config, at + 6)?;
            return Some(Acs {
                request_redirect: control & 1 << 2 != 0,
                completion_redirect: control & 1 << 3 != 0,
                upstream_forwarding: control & 1 << 4 != 0,
            });
        }
        at = (head >> 20) as usize;
        if at < EXTENDED {
            return None;
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A bridge with an unknown capability, PCI Express, and ACS behind an unknown one.
    fn config() -> Vec<u8> {
        let mut config = vec![0; 4096];
        config[0x06] = 0x10;
        config[0x34] = 0x40;
        config[0x40..0x42].copy_from_slice(&[0x05, 0x60]);
        config[0x60] = 0x10;
        config[0x64] = 0x02;
        config[0x68..0x6a].copy_from_slice(&0x2820_u16.to_le_bytes());
        config[0x100..0x104].copy_from_slice(&(0x148_u32 << 20 | 1 << 16 | 1).to_le_bytes());
        config[0x148..0x14c].copy_from_slice(&(1_u32 << 16 | 0xd).to_le_bytes());
        config[0x14e] = 0x1c;
        config
    }

    #[test]
    fn capabilities_are_found() {
        let sizes = sizes(&config()).expect("PCI Express");
        assert_eq!(
            (sizes.payload_supported, sizes.payload, sizes.read_request),
            (512, 256, 512)
        );
        assert!(!sizes.relaxed_ordering);
        let mut relaxed = config();
        relaxed[0x68] |= 0x10;
        assert!(super::sizes(&relaxed).is_some_and(|sizes| sizes.relaxed_ordering));
        assert!(acs(&config()).is_some_and(Acs::redirects));
    }

    #[test]
    fn lists_may_lie() {
        let mut circle = config();
        circle[0x41] = 0x40;
        circle[0x103] = 0x10;
        assert_eq!((sizes(&circle), acs(&circle)), (None, None));
        for length in [0, 1, 64, 0x62, 0x100, 0x14a] {
            assert_eq!(acs(&config()[..length]), None, "{length} bytes");
            let _any_but_a_panic = sizes(&config()[..length]);
        }
        let ones = vec![0xff; 4096];
        let _any_but_a_panic = (sizes(&ones), acs(&ones));
    }
}
