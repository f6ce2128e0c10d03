// A weight matrix in memory: packed into panels, with its format known at run time. Which formats can occur
// is known at build time: the precision policy's list.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "tenon/backend/host/panel.hpp"
#include "tenon/core/buffer.hpp"
#include "tenon/policy/precision.hpp"

namespace tenon::host {

/// [rows, columns] weights; rows are outputs, columns run along k. Padding rows and columns are zeros.
struct matrix {
  std::uint32_t format = 0;  // the gguf_type of the format
  std::size_t rows = 0;
  std::size_t columns = 0;
  std::size_t group_bytes = 0;
  buffer<std::uint8_t> data;  // [panels, groups] groups of the format's layout

  std::size_t panels() const { return (rows + panel_rows - 1) / panel_rows; }
  std::size_t groups() const { return groups_of(columns); }
  std::size_t panel_bytes() const { return groups() * group_bytes; }
  const std::uint8_t* panel(std::size_t index) const { return data.data() + index * panel_bytes(); }
  std::size_t bytes() const { return data.size(); }

  /// Bytes that such a matrix takes, before it is made.
  template <class Isa, weight_format Format>
  static std::size_t bytes_of(std::size_t rows, std::size_t columns) {
    return (rows + panel_rows - 1) / panel_rows * groups_of(columns) * panel_layout<Isa, Format>::group_bytes;
  }
};

/// An empty matrix with room for its panels.
template <class Isa, weight_format Format>
matrix make_matrix(std::size_t rows, std::size_t columns) {
  matrix made;
  made.format = Format::gguf_type;
  made.rows = rows;
  made.columns = columns;
  made.group_bytes = panel_layout<Isa, Format>::group_bytes;
  // Kernels prefetch past the end of a panel, and may read a vector past its last scale.
  made.data = buffer<std::uint8_t>(made.panels() * made.panel_bytes());
  return made;
}

/// Packs one panel from rows as they are in the file, `source` being the matrix's first row.
template <class Isa, weight_format Format>
void pack_panel(matrix& to, std::size_t panel, const std::byte* source) {
  using layout = panel_layout<Isa, Format>;
  const std::size_t stride = row_bytes<Format>(to.columns);
  const std::byte* rows[panel_rows];
  for (std::size_t i = 0; i < panel_rows; ++i) {
    const std::size_t row = panel * panel_rows + i;
    rows[i] = row < to.rows ? source + row * stride : nullptr;
  }
  for (std::size_t group = 0; group < to.groups(); ++group) {
    std::uint8_t* out = to.data.data() + panel * to.panel_bytes() + group * layout::group_bytes;
    if constexpr (scalar_format<Format>) {
      layout::pack(rows, group, out, (std::min)(to.columns - group * group_size, std::size_t{group_size}));
    } else {
      layout::pack(rows, group, out);
    }
  }
}

/// Decodes one row to fp32: `columns` values.
template <class Isa, weight_format Format>
void decode_matrix_row(const matrix& from, std::size_t row, float* values) {
  const std::uint8_t* panel = from.panel(row / panel_rows);
  for (std::size_t k = 0; k < from.columns; ++k) {
    values[k] = panel_layout<Isa, Format>::value(panel + k / group_size * from.group_bytes, row % panel_rows,
                                                 k % group_size);
  }
}

}  // namespace tenon::host
