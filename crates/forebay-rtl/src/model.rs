// SPDX-License-Identifier: Apache-2.0
//! One instance of a built design. The only module with `unsafe`: each of its blocks rests on the
//! interface in `shim/shim.cpp`, whose version is checked when the library is loaded.
#![allow(unsafe_code)]

use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::ops::BitOr;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::path::Path;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::builder::{ABI, Library};
use crate::error::{Error, Result};
use crate::ports::{self, Direction, Port};

/// No design has more ports; a library that claims so is not one of ours.
const PORTS_MAX: usize = 4096;
/// Memories beyond these cannot be shared.
const MEMORIES_MAX: usize = 64;

#[repr(C)]
#[derive(Clone, Copy)]
struct RawPort {
    name: *const c_char,
    width: u32,
    bytes: u32,
    input: u32,
    data: *mut c_void,
}

#[repr(C)]
#[derive(Clone, Copy)]
struct RawMemory {
    name: *const c_char,
    bytes: u64,
    data: *mut c_void,
}

/// Declares the functions of the shim, each a symbol `fb_NAME`.
macro_rules! api {
    ($($name:ident: fn($($argument:ty),*) $(-> $result:ty)?;)*) => {
        struct Api {
            $($name: unsafe extern "C" fn($($argument),*) $(-> $result)?,)*
        }

        impl Api {
            /// # Safety
            /// The library must be of our interface: these are the types of its symbols.
            unsafe fn load(code: &libloading::Library, library: &Library) -> Result<Self> {
                // SAFETY: passed on to the caller.
                unsafe {
                    Ok(Self {
                        $($name: *symbol(code, concat!("fb_", stringify!($name)), library)?,)*
                    })
                }
            }
        }
    };
}

api! {
    new: fn(u32, i32) -> *mut c_void;
    clock: fn(u32) -> *const c_char;
    memories: fn(*mut c_void, *mut RawMemory, u32) -> u32;
    share: fn(*mut c_void, *const RawMemory, c_int, u64) -> c_int;
    free: fn(*mut c_void);
    ports: fn(*mut c_void, *mut RawPort, u32) -> u32;
    eval: fn(*mut c_void) -> c_int;
    tick: fn(*mut c_void, u32, u32) -> c_int;
    take_printed: fn(*mut c_void) -> *const c_char;
    has_printed: fn(*mut c_void) -> c_int;
    clear: fn(*mut c_void);
    time: fn(*mut c_void, u64);
    trace_open: fn(*mut c_void, *const c_char) -> c_int;
    trace_dump: fn(*mut c_void, u64);
    trace_close: fn(*mut c_void);
}

/// A memory of the design that can be shared: see [`Model::share`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Memory {
    /// Where it stands in the design, `top.u_buffer.store`.
    pub name: String,
    /// Its bytes, a multiple of 4096.
    pub bytes: u64,
}

/// A port of one particular [`Model`]; cheap to copy. Using it with another model panics.
#[derive(Debug, Clone, Copy)]
pub struct PortHandle {
    data: NonNull<u8>,
    mask: u64,
    bytes: u32,
    width: u32,
    model: u32,
    direction: Direction,
}

// SAFETY: the pointer is used only through the model that it belongs to (`model` is compared), and
// a model is used by one thread at a time.
unsafe impl Send for PortHandle {}

impl PortHandle {
    /// Width in bits.
    #[must_use]
    pub fn width(&self) -> u32 {
        self.width
    }

    /// Direction seen from the RTL.
    #[must_use]
    pub fn direction(&self) -> Direction {
        self.direction
    }
}

/// A clock, or several that rise together, whose rising edge takes one evaluation; of one design.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Clock(u32);

impl BitOr for Clock {
    type Output = Self;

    /// Both at once.
    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

/// An instance of a built design.
pub struct Model {
    handle: NonNull<c_void>,
    api: Api,
    id: u32,
    top: String,
    trace: bool,
    /// Names of the ports that [`Model::tick`] knows.
    clocks: Vec<String>,
    /// Those that are clocks, a bit each.
    ticking: u32,
    ports: Vec<(Port, PortHandle)>,
    // Last, so that the code outlives the handle.
    _library: libloading::Library,
}

// SAFETY: the instance is owned; Verilator keeps per-thread state only during a call, and the shim
// sets it at the start of each call.
unsafe impl Send for Model {}

impl std::fmt::Debug for Model {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Model")
            .field("top", &self.top)
            .field("ports", &self.ports.len())
            .finish()
    }
}

impl Model {
    /// Loads a library and makes one instance of its design.
    ///
    /// # Errors
    /// When the library cannot be loaded, or the design stops in its initial blocks (a parameter
    /// check, for example).
    pub fn load(library: &Library) -> Result<Self> {
        Self::load_seeded(library, 0)
    }

    /// As [`Model::load`]; the seed decides the initial values of a design built with
    /// `random_init`.
    ///
    /// # Errors
    /// As [`Model::load`].
    pub fn load_seeded(library: &Library, seed: u64) -> Result<Self> {
        static NEXT: AtomicU32 = AtomicU32::new(1);
        let refused = |what: String| Error::Load {
            path: library.path.clone(),
            what,
        };
        // SAFETY: loading runs the constructors of the C++ run time and of the model, which touch
        // nothing of ours. The file is one that `Builder` made and whose hash the cache checked.
        let code = unsafe { libloading::Library::new(&library.path) }
            .map_err(|e| refused(e.to_string()))?;
        // SAFETY: the signatures are those in shim.cpp; `fb_abi` tells whether that holds.
        let (api, clocks) = unsafe {
            let abi = *symbol::<unsafe extern "C" fn() -> u32>(&code, "fb_abi", library)?;
            if abi() != ABI {
                let what = format!("its interface is version {}, not {ABI}", abi());
                return Err(refused(what));
            }
            let api = Api::load(&code, library)?;
            let name = |number| match (api.clock)(number) {
                name if name.is_null() => None,
                name => Some(CStr::from_ptr(name).to_string_lossy().into_owned()),
            };
            let clocks: Vec<String> = (0..).map_while(name).collect();
            (api, clocks)
        };
        // Zero would mean "take the time of day" to Verilator.
        let seed = i32::try_from(seed % 0x7fff_fffe).unwrap_or(0) + 1;
        // SAFETY: `fb_new` takes plain numbers and returns an instance that is ours to free.
        let handle = unsafe { (api.new)(u32::from(library.random_init), seed) };
        let handle = NonNull::new(handle).ok_or_else(|| refused("no instance was made".into()))?;
        let mut model = Self {
            handle,
            api,
            id: NEXT.fetch_add(1, Ordering::Relaxed),
            top: library.top.clone(),
            trace: library.trace,
            clocks,
            ticking: 0,
            ports: Vec::new(),
            _library: code,
        };
        model.read_ports()?;
        // Initial blocks run in the first evaluation; a parameter check stops there.
        model.eval()?;
        Ok(model)
    }

    fn read_ports(&mut self) -> Result<()> {
        // SAFETY: `RawPort` is plain data for which all zeros is a value.
        let empty: RawPort = unsafe { std::mem::zeroed() };
        let mut raw = vec![empty; PORTS_MAX];
        // SAFETY: the shim writes at most `PORTS_MAX` entries into the table.
        let count =
            unsafe { (self.api.ports)(self.handle.as_ptr(), raw.as_mut_ptr(), PORTS_MAX as u32) };
        for raw in raw.into_iter().take(count as usize) {
            let Some(data) = NonNull::new(raw.data.cast::<u8>()) else {
                continue;
            };
            // SAFETY: the shim's names are string literals of the loaded library.
            let name = unsafe { CStr::from_ptr(raw.name) }
                .to_string_lossy()
                .into_owned();
            let direction = match raw.input {
                0 => Direction::Output,
                _ => Direction::Input,
            };
            let mask = 1_u64.checked_shl(raw.width).unwrap_or(0).wrapping_sub(1);
            let handle = PortHandle {
                data,
                mask,
                bytes: raw.bytes,
                width: raw.width,
                model: self.id,
                direction,
            };
            self.ports.push((
                Port {
                    name,
                    width: raw.width,
                    direction,
                },
                handle,
            ));
        }
        if self.ports.is_empty() {
            let message = self.take_output();
            return Err(Error::Model { message });
        }
        Ok(())
    }

    /// Memories of 512-bit words that fill whole pages: payload buffers.
    #[must_use]
    pub fn memories(&self) -> Vec<Memory> {
        let read = |raw: RawMemory| Memory {
            // SAFETY: the shim's names are string literals of the loaded library.
            name: unsafe { CStr::from_ptr(raw.name) }
                .to_string_lossy()
                .into_owned(),
            bytes: raw.bytes,
        };
        self.raw_memories().into_iter().map(read).collect()
    }

    /// Lets a memory of this name lie in a file from this offset on, which is a multiple of 4096:
    /// a program that maps the file reads and writes the very words of the design, beside its ports.
    /// Contents are kept. The file must be long enough, and stay so.
    ///
    /// # Errors
    /// When there is no such memory, or the file cannot be written or mapped.
    pub fn share(&mut self, name: &str, file: BorrowedFd<'_>, offset: u64) -> Result<()> {
        let failed = |what: String| Error::Model {
            message: format!("memory '{name}' of '{}' cannot be shared: {what}", self.top),
        };
        let raw = self.memory(name);
        let raw = raw.ok_or_else(|| failed("there is none".into()))?;
        // Before anything is written into the file.
        let own = file.try_clone_to_owned().map(std::fs::File::from);
        let length = own.and_then(|own| own.metadata());
        let length = length.map_err(|e| failed(e.to_string()))?.len();
        if !offset.is_multiple_of(ports::PAGE_BYTES) {
            return Err(failed(format!("offset {offset} is no multiple of 4096")));
        }
        if offset.checked_add(raw.bytes).is_none_or(|end| end > length) {
            let bytes = raw.bytes;
            let what = format!("{bytes} bytes at {offset} are past the file's {length}");
            return Err(failed(what));
        }
        // SAFETY: a live instance, borrowed mutably, and a memory of its own that fills whole
        // pages: nothing else is on them, and `fb_free` gives them back as they were.
        let code =
            unsafe { (self.api.share)(self.handle.as_ptr(), &raw, file.as_raw_fd(), offset) };
        match code {
            0 => Ok(()),
            code => Err(failed(std::io::Error::from_raw_os_error(code).to_string())),
        }
    }

    /// The bytes of a memory of this name, to be changed beside its own ports: word by word, least
    /// significant byte first. None where there is no such memory.
    #[must_use]
    pub fn memory_mut(&mut self, name: &str) -> Option<&mut [u8]> {
        let raw = self.memory(name)?;
        let data = NonNull::new(raw.data.cast::<u8>())?;
        // SAFETY: a live instance, borrowed mutably, whose memory has `raw.bytes` bytes, plain words
        // of which each value is valid.
        Some(unsafe { std::slice::from_raw_parts_mut(data.as_ptr(), raw.bytes as usize) })
    }

    fn memory(&self, name: &str) -> Option<RawMemory> {
        self.raw_memories().into_iter().find(|raw| {
            // SAFETY: as in `memories`.
            unsafe { CStr::from_ptr(raw.name) }.to_bytes() == name.as_bytes()
        })
    }

    fn raw_memories(&self) -> Vec<RawMemory> {
        // SAFETY: `RawMemory` is plain data for which all zeros is a value.
        let empty: RawMemory = unsafe { std::mem::zeroed() };
        let mut raw = vec![empty; MEMORIES_MAX];
        // SAFETY: the shim writes at most `MEMORIES_MAX` entries into the table.
        let count = unsafe {
            (self.api.memories)(self.handle.as_ptr(), raw.as_mut_ptr(), MEMORIES_MAX as u32)
        };
        raw.truncate(count as usize);
        raw
    }

    /// Name of the top module.
    #[must_use]
    pub fn top(&self) -> &str {
        &self.top
    }

    /// All ports, in the order of the RTL.
    pub fn ports(&self) -> impl Iterator<Item = &Port> {
        self.ports.iter().map(|(port, _)| port)
    }

    /// The port of this name.
    ///
    /// # Errors
    /// [`Error::NoPort`], with the name of a port that is alike.
    pub fn port(&self, name: &str) -> Result<PortHandle> {
        self.find_port(name).ok_or_else(|| Error::NoPort {
            top: self.top.clone(),
            name: name.to_owned(),
            nearest: self
                .ports()
                .map(|port| (distance(&port.name, name), &port.name))
                .min()
                .filter(|(distance, _)| *distance <= (name.len() / 3).max(2))
                .map(|(_, name)| name.clone()),
        })
    }

    /// The port of this name, if there is one.
    #[must_use]
    pub fn find_port(&self, name: &str) -> Option<PortHandle> {
        self.ports
            .iter()
            .find(|(port, _)| port.name == name)
            .map(|(_, handle)| *handle)
    }

    /// The value of a port; of one wider than 64 bits, its low 64 bits.
    #[inline]
    #[must_use]
    pub fn get(&self, port: PortHandle) -> u64 {
        self.check(port);
        // SAFETY: the pointer is that of a live port of this model, of `bytes` bytes, aligned for
        // its type (1, 2, 4 or 8 bytes; wide ports are arrays of u32, hence the unaligned read).
        unsafe {
            match port.bytes {
                1 => u64::from(port.data.read()),
                2 => u64::from(port.data.cast::<u16>().read()),
                4 => u64::from(port.data.cast::<u32>().read()),
                _ => port.data.cast::<u64>().read_unaligned(),
            }
        }
    }

    /// Whether a port is not zero, of one up to 8 bits wide; of a wider one its low 8 bits.
    #[inline]
    #[must_use]
    pub fn is_set(&self, port: PortHandle) -> bool {
        self.check(port);
        // SAFETY: every port has at least one byte.
        unsafe { port.data.read() != 0 }
    }

    /// Sets an input; bits beyond its width are dropped, those of a port wider than 64 bits are
    /// cleared.
    #[inline]
    pub fn set(&mut self, port: PortHandle, value: u64) {
        self.check(port);
        let value = value & port.mask;
        // SAFETY: as in `get`; the model is borrowed mutably.
        unsafe {
            match port.bytes {
                1 => port.data.write(value as u8),
                2 => port.data.cast::<u16>().write(value as u16),
                4 => port.data.cast::<u32>().write(value as u32),
                8 => port.data.cast::<u64>().write_unaligned(value),
                bytes => {
                    port.data.write_bytes(0, bytes as usize);
                    port.data.cast::<u64>().write_unaligned(value);
                }
            }
        }
    }

    /// The bytes of a port in place, least significant first.
    #[inline]
    #[must_use]
    pub fn bytes(&self, port: PortHandle) -> &[u8] {
        self.check(port);
        // SAFETY: a live port of this model of `bytes` bytes; nothing writes while it is borrowed,
        // since `eval` and `set` borrow the model mutably. Ports are little-endian words.
        unsafe { std::slice::from_raw_parts(port.data.as_ptr(), port.bytes as usize) }
    }

    /// The bytes of an input in place, least significant first. Bits beyond the width of a port
    /// must stay zero.
    #[inline]
    pub fn bytes_mut(&mut self, port: PortHandle) -> &mut [u8] {
        self.check(port);
        // SAFETY: as in `bytes`, with the model borrowed mutably.
        unsafe { std::slice::from_raw_parts_mut(port.data.as_ptr(), port.bytes as usize) }
    }

    /// The bytes of a 512-bit port in place.
    #[inline]
    #[must_use]
    pub fn wide(&self, port: PortHandle) -> &[u8; 64] {
        self.check_wide(port);
        // SAFETY: as in `bytes`; the length was checked.
        unsafe { port.data.cast::<[u8; 64]>().as_ref() }
    }

    /// The bytes of a 512-bit input in place.
    #[inline]
    pub fn wide_mut(&mut self, port: PortHandle) -> &mut [u8; 64] {
        self.check_wide(port);
        // SAFETY: as in `wide`, with the model borrowed mutably.
        unsafe { port.data.cast::<[u8; 64]>().as_mut() }
    }

    #[inline]
    fn check(&self, port: PortHandle) {
        assert!(
            port.model == self.id,
            "a port of one model was used with another"
        );
    }

    #[inline]
    fn check_wide(&self, port: PortHandle) {
        self.check(port);
        let width = port.width;
        assert!(port.bytes == 64, "the port is {width} bits wide, not 512");
    }

    /// Evaluates the design after its inputs changed.
    ///
    /// # Errors
    /// [`Error::Model`] when an assertion failed, or the design called `$error`, `$fatal`, `$stop`
    /// or `$finish`. It may be evaluated further, unless it was `$fatal` inside the run time.
    #[inline]
    pub fn eval(&mut self) -> Result<()> {
        // SAFETY: a live instance, borrowed mutably.
        if unsafe { (self.api.eval)(self.handle.as_ptr()) } == 0 {
            Ok(())
        } else {
            self.failed()
        }
    }

    /// What [`Model::tick`] takes for the clock at this port. None where the design also waits for
    /// falling edges, or for edges of nets inside: then each half of a cycle needs its evaluation. From
    /// now on it is a clock, unlike an asynchronous reset, whose edges are waited for as well.
    #[must_use]
    pub fn clock(&mut self, port: PortHandle) -> Option<Clock> {
        let (port, _) = self.ports.iter().find(|(_, it)| it.data == port.data)?;
        let number = self.clocks.iter().position(|clock| *clock == port.name)?;
        let clock = Clock(1u32.checked_shl(number as u32)?);
        self.ticking |= clock.0;
        Some(clock)
    }

    /// A rising edge of this clock in one evaluation, in place of two with the clock low and high.
    /// Inputs take effect as if set before the edge; outputs that follow inputs without a register
    /// between are those of the time after the edge. All that [`Model::clock`] was asked for stay high.
    ///
    /// # Errors
    /// As [`Model::eval`].
    #[inline]
    pub fn tick(&mut self, clock: Clock) -> Result<()> {
        // SAFETY: a live instance, borrowed mutably.
        if unsafe { (self.api.tick)(self.handle.as_ptr(), self.ticking, clock.0) } == 0 {
            Ok(())
        } else {
            self.failed()
        }
    }

    #[cold]
    fn failed(&mut self) -> Result<()> {
        let message = self.take_output();
        // SAFETY: a live instance, borrowed mutably.
        unsafe { (self.api.clear)(self.handle.as_ptr()) };
        Err(Error::Model {
            message: message.trim_end().to_owned(),
        })
    }

    /// What the design printed since the last call (`$display`, `$write`).
    pub fn take_output(&mut self) -> String {
        // SAFETY: a live instance; the text is valid until the next call on it and copied here.
        unsafe {
            if (self.api.has_printed)(self.handle.as_ptr()) == 0 {
                return String::new();
            }
            let text = (self.api.take_printed)(self.handle.as_ptr());
            CStr::from_ptr(text).to_string_lossy().into_owned()
        }
    }

    /// Sets the time that `$time` shows, in picoseconds.
    #[inline]
    pub fn set_time(&mut self, picoseconds: u64) {
        // SAFETY: a live instance, borrowed mutably.
        unsafe { (self.api.time)(self.handle.as_ptr(), picoseconds) };
    }

    /// Begins to record waves into an FST file.
    ///
    /// # Errors
    /// [`Error::NoTrace`] when the model was built without tracing; [`Error::Io`] when the file cannot
    /// be made.
    pub fn trace_open(&mut self, path: &Path) -> Result<()> {
        if !self.trace {
            return Err(Error::NoTrace);
        }
        let bad_path = || Error::Model {
            message: format!("bad trace path {}", path.display()),
        };
        let text = path.to_str().ok_or_else(bad_path)?;
        let text = CString::new(text).map_err(|_| bad_path())?;
        // Verilator does not tell why, or even that, it cannot write.
        std::fs::File::create(path).map_err(|e| Error::io("making the wave file", path, e))?;
        // SAFETY: a live instance and a string that lives through the call.
        match unsafe { (self.api.trace_open)(self.handle.as_ptr(), text.as_ptr()) } {
            0 => Ok(()),
            _ => self.failed(),
        }
    }

    /// Records the present state, at this time in picoseconds; times must rise.
    #[inline]
    pub fn trace_dump(&mut self, picoseconds: u64) {
        // SAFETY: a live instance, borrowed mutably.
        unsafe { (self.api.trace_dump)(self.handle.as_ptr(), picoseconds) };
    }

    /// Ends recording and completes the file.
    pub fn trace_close(&mut self) {
        // SAFETY: a live instance, borrowed mutably.
        unsafe { (self.api.trace_close)(self.handle.as_ptr()) };
    }
}

impl Drop for Model {
    fn drop(&mut self) {
        // SAFETY: the instance is ours and used no more; the library is dropped after this.
        unsafe { (self.api.free)(self.handle.as_ptr()) };
    }
}

/// # Safety
/// `T` must be the type of the symbol.
unsafe fn symbol<'l, T>(
    code: &'l libloading::Library,
    name: &str,
    library: &Library,
) -> Result<libloading::Symbol<'l, T>> {
    // SAFETY: passed on to the caller.
    unsafe { code.get(name.as_bytes()) }.map_err(|e| Error::Load {
        path: library.path.clone(),
        what: e.to_string(),
    })
}

/// Edit distance, for the hint in an error.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, y) in b.iter().enumerate() {
            let substituted = diagonal + usize::from(x != *y);
            diagonal = row[j + 1];
            row[j + 1] = substituted.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}
