// SPDX-License-Identifier: Apache-2.0
//! A superblock, and where things stand in the blocks of its index.

use std::ops::Deref;

use forebay_spec::store::layout::Layout;
use forebay_spec::store::superblock::Superblock;

/// A superblock, and the layout that follows from it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Form {
    superblock: Superblock,
    layout: Layout,
}

impl Form {
    /// That of a superblock.
    #[must_use]
    pub fn of(superblock: Superblock) -> Self {
        Self {
            layout: Layout::new(superblock.version, superblock.schema),
            superblock,
        }
    }

    /// Where things stand in a block.
    #[must_use]
    pub const fn layout(&self) -> &Layout {
        &self.layout
    }
}

impl Deref for Form {
    type Target = Superblock;

    fn deref(&self) -> &Superblock {
        &self.superblock
    }
}
