//! The module's allocator, which never frees: an instance of the module serves one request.
//! DESIGN.md has the figures.
#![allow(unsafe_code)]

use std::alloc::{GlobalAlloc, Layout};
use std::arch::wasm32::{memory_grow, memory_size};
use std::ptr::{copy_nonoverlapping, null_mut};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// The size of a page of linear memory, in bytes.
const PAGE: usize = 65536;

#[global_allocator]
static ALLOCATOR: Bump = Bump {
    end: AtomicUsize::new(0),
};

/// Puts each block behind the one before.
struct Bump {
    /// The end of the last block. 0 before the first.
    end: AtomicUsize,
}

impl Bump {
    /// Makes a block the last one. Null if the memory can't grow any more.
    fn block(&self, start: usize, size: usize) -> *mut u8 {
        let end = start.saturating_add(size);
        let pages = end.div_ceil(PAGE).saturating_sub(memory_size::<0>());
        if pages > 0 && memory_grow::<0>(pages) == usize::MAX {
            return null_mut();
        }
        self.end.store(end, Relaxed);
        start as *mut u8
    }
}

// SAFETY: each block is inside the memory that this allocator has added, and no two overlap.
unsafe impl GlobalAlloc for Bump {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let start = match self.end.load(Relaxed) {
            0 => memory_size::<0>().saturating_mul(PAGE),
            end => end.next_multiple_of(layout.align()),
        };
        self.block(start, layout.size())
    }

    unsafe fn dealloc(&self, _: *mut u8, _: Layout) {}

    unsafe fn realloc(&self, old: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        let start = old as usize;
        if start.saturating_add(layout.size()) == self.end.load(Relaxed) {
            // The last block grows where it is.
            return self.block(start, size);
        }
        if size <= layout.size() {
            return old;
        }
        let start = self.end.load(Relaxed).next_multiple_of(layout.align());
        let new = self.block(start, size);
        if !new.is_null() {
            // SAFETY: the new block is larger than the old one, and behind it.
            unsafe { copy_nonoverlapping(old, new, layout.size()) };
        }
        new
    }
}
