// SPDX-License-Identifier: Apache-2.0
//! Command opcodes.

macro_rules! opcodes {
    ($(#[$doc:meta])* $name:ident { $($(#[$vdoc:meta])* $variant:ident = $value:literal,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[repr(u8)]
        pub enum $name { $($(#[$vdoc])* $variant = $value,)* }

        impl $name {
            /// The opcode with this number, if we know it.
            pub const fn from_number(number: u8) -> Option<Self> {
                match number { $($value => Some(Self::$variant),)* _ => None }
            }

            /// The opcode's number.
            pub const fn number(self) -> u8 { self as u8 }
        }
    };
}

opcodes! {
    /// Opcodes of the admin command set (figure 138).
    AdminOpcode {
        /// Delete I/O Submission Queue (5.7).
        DeleteIoSq = 0x00,
        /// Create I/O Submission Queue (5.5).
        CreateIoSq = 0x01,
        /// Get Log Page (5.16).
        GetLogPage = 0x02,
        /// Delete I/O Completion Queue (5.6).
        DeleteIoCq = 0x04,
        /// Create I/O Completion Queue (5.4).
        CreateIoCq = 0x05,
        /// Identify (5.17).
        Identify = 0x06,
        /// Abort (5.1).
        Abort = 0x08,
        /// Set Features (5.27).
        SetFeatures = 0x09,
        /// Get Features (5.15).
        GetFeatures = 0x0a,
        /// Asynchronous Event Request (5.2).
        AsyncEventRequest = 0x0c,
        /// Format NVM (5.14).
        FormatNvm = 0x80,
    }
}

opcodes! {
    /// Opcodes of the NVM command set (NVM Command Set 1.0c, figure 16).
    IoOpcode {
        /// Flush (Base 7.1).
        Flush = 0x00,
        /// Write (3.2.6).
        Write = 0x01,
        /// Read (3.2.4).
        Read = 0x02,
        /// Compare (3.2.1).
        Compare = 0x05,
        /// Write Zeroes (3.2.8).
        WriteZeroes = 0x08,
        /// Dataset Management (3.2.3).
        DatasetManagement = 0x09,
    }
}
