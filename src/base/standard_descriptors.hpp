// Standard input, output and error, whatever the program was started with.
#pragma once

namespace tide {

// Opens /dev/null in place of those that are closed: else the next socket or pipe would get their
// number and be taken for them. Writing to a standard output that was closed still fails. First
// thing in main().
void open_missing_standard_descriptors();

}  // namespace tide
