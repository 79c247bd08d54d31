// SPDX-License-Identifier: Apache-2.0
//! Physical region pages (4.1.1).

/// Bytes of a PRP entry.
pub const ENTRY_BYTES: u64 = 8;

/// Memory pages that `length` bytes touch when they begin at `address`.
pub const fn pages(address: u64, length: u64, page_bytes: u64) -> u64 {
    (address % page_bytes + length).div_ceil(page_bytes)
}

/// PRP entries of a command whose data lie in contiguous memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Prp2 {
    /// One page: the second entry is unused.
    None,
    /// Two pages: the second entry is the second page.
    Page(u64),
    /// More: the second entry points to a list of this many entries, the first of which is the
    /// second page.
    List {
        /// Address of the second page.
        second_page: u64,
        /// Entries of the list.
        entries: u64,
    },
}

/// What the second PRP entry of a transfer from contiguous memory has to be.
pub const fn second(address: u64, length: u64, page_bytes: u64) -> Prp2 {
    let second_page = (address / page_bytes + 1) * page_bytes;
    match pages(address, length, page_bytes) {
        0 | 1 => Prp2::None,
        2 => Prp2::Page(second_page),
        count => Prp2::List {
            second_page,
            entries: count - 1,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_are_counted_from_the_offset() {
        assert_eq!(pages(0x1000, 4096, 4096), 1);
        assert_eq!(pages(0x1004, 4096, 4096), 2);
        assert_eq!(second(0x1000, 8192, 4096), Prp2::Page(0x2000));
        let list = Prp2::List {
            second_page: 0x2000,
            entries: 2,
        };
        assert_eq!(second(0x1ffc, 8192, 4096), list);
    }
}
