// A compiled regular expression: what the pre-tokenizers need of PCRE2, and no more.
//
// PCRE2's 8-bit functions are declared here, exactly as pcre2.h declares them, instead of including it: that
// header leaves some two hundred macros behind and fixes the character width for everyone who includes it
// later. Both may be included in one file, in any order; a test holds the numbers below against pcre2.h.
#pragma once

#include "tenon/core/concat.hpp"
#include "tenon/core/error.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <string>
#include <string_view>

extern "C" {
struct pcre2_real_code_8;
struct pcre2_real_match_data_8;
struct pcre2_real_match_context_8;
struct pcre2_real_compile_context_8;
struct pcre2_real_general_context_8;
pcre2_real_code_8* pcre2_compile_8(const std::uint8_t*, std::size_t, std::uint32_t, int*, std::size_t*,
                                   pcre2_real_compile_context_8*);
void pcre2_code_free_8(pcre2_real_code_8*);
int pcre2_jit_compile_8(pcre2_real_code_8*, std::uint32_t);
pcre2_real_match_data_8* pcre2_match_data_create_8(std::uint32_t, pcre2_real_general_context_8*);
void pcre2_match_data_free_8(pcre2_real_match_data_8*);
std::size_t* pcre2_get_ovector_pointer_8(pcre2_real_match_data_8*);
int pcre2_match_8(const pcre2_real_code_8*, const std::uint8_t*, std::size_t, std::size_t, std::uint32_t,
                  pcre2_real_match_data_8*, pcre2_real_match_context_8*);
pcre2_real_match_context_8* pcre2_match_context_create_8(pcre2_real_general_context_8*);
void pcre2_match_context_free_8(pcre2_real_match_context_8*);
int pcre2_set_match_limit_8(pcre2_real_match_context_8*, std::uint32_t);
int pcre2_config_8(std::uint32_t, void*);
}

namespace tenon::text {

namespace detail::pcre2 {
inline constexpr std::uint32_t anchored = 0x80000000u;       // PCRE2_ANCHORED
inline constexpr std::uint32_t no_utf_check = 0x40000000u;   // PCRE2_NO_UTF_CHECK
inline constexpr std::uint32_t utf = 0x00080000u;            // PCRE2_UTF
inline constexpr std::uint32_t jit_complete = 0x00000001u;   // PCRE2_JIT_COMPLETE
inline constexpr std::uint32_t config_unicode_version = 10;  // PCRE2_CONFIG_UNICODE_VERSION

struct release {
  void operator()(pcre2_real_code_8* code) const { pcre2_code_free_8(code); }
  void operator()(pcre2_real_match_data_8* data) const { pcre2_match_data_free_8(data); }
  void operator()(pcre2_real_match_context_8* context) const { pcre2_match_context_free_8(context); }
};
}  // namespace detail::pcre2

/// A UTF-8 pattern, translated to machine code where PCRE2 can. Immutable: any number of threads may match
/// with it, each with a `workspace` of its own.
class regex_pattern {
 public:
  /// Room for one match at a time.
  class workspace {
   public:
    workspace() : data_(pcre2_match_data_create_8(1, nullptr)) {
      if (!data_) throw std::bad_alloc();
    }

   private:
    friend regex_pattern;
    std::unique_ptr<pcre2_real_match_data_8, detail::pcre2::release> data_;
  };

  /// A pattern that PCRE2 does not accept is a tenon::error: patterns are part of the program.
  [[gnu::cold]] explicit regex_pattern(std::string_view pattern) {
    namespace pcre2 = detail::pcre2;
    int code = 0;
    std::size_t place = 0;
    code_.reset(pcre2_compile_8(reinterpret_cast<const std::uint8_t*>(pattern.data()), pattern.size(),
                                pcre2::utf | pcre2::anchored, &code, &place, nullptr));
    if (!code_)
      throw error(concat("PCRE2 refuses a pre-tokenizer pattern at character ", place, " (its error ", code,
                         "); use PCRE2 10.30 or later, built with Unicode support"));
    // No machine code (say, where memory must not be made executable) only means that matching is slower.
    pcre2_jit_compile_8(code_.get(), pcre2::jit_complete);
    // The default limit would end a match in ten million blanks.
    limits_.reset(pcre2_match_context_create_8(nullptr));
    if (!limits_) throw std::bad_alloc();
    pcre2_set_match_limit_8(limits_.get(), 0xffffffffu);
  }

  /// Where the match ends that begins at byte `begin` of `text`; `begin` itself when there is none. `text`
  /// must be valid UTF-8: it is not checked again.
  std::size_t match(std::string_view text, std::size_t begin, workspace& room) const {
    const int count =
        pcre2_match_8(code_.get(), reinterpret_cast<const std::uint8_t*>(text.data()), text.size(), begin,
                      detail::pcre2::no_utf_check, room.data_.get(), limits_.get());
    return count < 0 ? begin : pcre2_get_ovector_pointer_8(room.data_.get())[1];
  }

 private:
  std::unique_ptr<pcre2_real_code_8, detail::pcre2::release> code_;
  std::unique_ptr<pcre2_real_match_context_8, detail::pcre2::release> limits_;
};

/// The version of Unicode by which letters, numbers and blanks are told apart ("14.0.0"): that of the PCRE2
/// library which the program runs with. Code points that a later version assigned count as neither.
inline std::string unicode_version() {
  char text[32] = {};
  pcre2_config_8(detail::pcre2::config_unicode_version, text);
  return text;
}

}  // namespace tenon::text
