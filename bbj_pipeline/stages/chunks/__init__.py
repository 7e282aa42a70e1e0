"""The parts of the chunker: pieces, sections, splitting, packing, headers, overlap. ``stages.chunking`` puts them together."""
