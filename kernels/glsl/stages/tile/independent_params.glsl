// Push constants of kernels of one pass whose workgroups tell each other nothing.

PUSH_CONSTANTS(
    Address source_address;
    Address target_address;
    uint n;  // elements
    INITIAL_WORDS
)
