// Attributes of a call, which are read by their names.

#ifndef JAXTREE_NATIVE_FFI_ATTRIBUTES_H_
#define JAXTREE_NATIVE_FFI_ATTRIBUTES_H_

#include <cstddef>
#include <string>

#include "xla/ffi/api/ffi.h"

namespace jaxtree {

class AttributeReader {
 public:
  explicit AttributeReader(const xla::ffi::Dictionary& attributes) : attributes_(attributes) {}

  // Reads an attribute of the type `T`; where there is none, what stands there stays.
  template <typename T, typename To>
  void Read(const char* name, To& to) {
    const xla::ffi::ErrorOr<T> value = attributes_.get<T>(name);
    ++num_read_;
    if (value.has_value()) to = static_cast<To>(*value);
    else missing_ += std::string(missing_.empty() ? "" : ", ") + name;
  }

  // An error where a name was missing or had another type, or where the call has further names.
  xla::ffi::Error Finish() const {
    if (!missing_.empty()) return xla::ffi::Error::InvalidArgument("attributes are missing or of another type: " + missing_);
    if (num_read_ != attributes_.size()) return xla::ffi::Error::InvalidArgument("the call has unknown attributes");
    return xla::ffi::Error::Success();
  }

 private:
  const xla::ffi::Dictionary& attributes_;
  size_t num_read_ = 0;
  std::string missing_;
};

}  // namespace jaxtree

#endif  // JAXTREE_NATIVE_FFI_ATTRIBUTES_H_
