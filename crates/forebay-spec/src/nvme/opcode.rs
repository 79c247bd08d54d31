// SPDX-License-Identifier: Apache-2.0
//! Command opcodes.

use crate::numbered::numbered;

numbered! {
    /// Opcodes of the admin command set (figure 138).
    AdminOpcode: u8 {
        /// Delete I/O Submission Queue (5.7).
        DeleteIoSq = 0x00;
        /// Create I/O Submission Queue (5.5).
        CreateIoSq = 0x01;
        /// Get Log Page (5.16).
        GetLogPage = 0x02;
        /// Delete I/O Completion Queue (5.6).
        DeleteIoCq = 0x04;
        /// Create I/O Completion Queue (5.4).
        CreateIoCq = 0x05;
        /// Identify (5.17).
        Identify = 0x06;
        /// Abort (5.1).
        Abort = 0x08;
        /// Set Features (5.27).
        SetFeatures = 0x09;
        /// Get Features (5.15).
        GetFeatures = 0x0a;
        /// Asynchronous Event Request (5.2).
        AsyncEventRequest = 0x0c;
        /// Format NVM (5.14).
        FormatNvm = 0x80;
    }
}

numbered! {
    /// Opcodes of the NVM command set (NVM Command Set 1.0c, figure 16).
    IoOpcode: u8 {
        /// Flush (Base 7.1).
        Flush = 0x00;
        /// Write (3.2.6).
        Write = 0x01;
        /// Read (3.2.4).
        Read = 0x02;
        /// Compare (3.2.1).
        Compare = 0x05;
        /// Write Zeroes (3.2.8).
        WriteZeroes = 0x08;
        /// Dataset Management (3.2.3).
        DatasetManagement = 0x09;
    }
}
