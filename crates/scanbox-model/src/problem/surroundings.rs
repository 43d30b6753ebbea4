//! What is around the elements of a problem: from which end they are combined, and what stands where in memory.

parameter! {
    /// From which end of the input elements are combined.
    Direction, "direction", {
        /// From the first one on: element i of the output has what stands before element i of the input.
        Forward = "forward" / "",
        /// From the last one on: element i of the output has what stands behind element i of the input. The operands
        /// keep their order: `x[i] op x[i + 1] op ... op x[n - 1]`, and an initial value behind them.
        Reverse = "reverse" / "reverse",
    }
}
parameter! {
    /// Where the output stands.
    Placement, "placement", {
        /// In memory of its own.
        OutOfPlace = "out-of-place" / "",
        /// Where the input stood.
        InPlace = "in-place" / "in-place",
    }
}

parameter! {
    /// Whether the total of all elements is stored beside a scan.
    Total, "total", {
        /// It is not.
        Absent = "absent" / "",
        /// It is stored: what an inclusive scan stores last, what would come next in an exclusive one.
        Stored = "stored" / "total",
    }
}
parameter! {
    /// Where a call finds what it begins with.
    InitSource, "init_source", {
        /// In its arguments.
        Arguments = "arguments" / "",
        /// In memory, at run time: another call may have written it.
        Memory = "memory" / "init-in-memory",
    }
}
