// SPDX-License-Identifier: Apache-2.0
// What a call of the system has made, or the errno for which it failed: for calls on which a file
// system answers millions of times, where a name that nothing has is no exception. No int becomes
// an Errno or a Result<void> by itself, and none of these types becomes an int. So nobody takes an
// errno for a descriptor, a count or success. Only the value of a Result<T> may be converted to its
// T.
#pragma once

#include <cassert>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>

namespace paes {

// A number of errno.h, not 0.
class [[nodiscard]] Errno {
 public:
  explicit constexpr Errno(int number) noexcept : number_(number) {}

  [[nodiscard]] constexpr int number() const noexcept { return number_; }
  // Whether it is one of these numbers.
  template <typename... Numbers>
  [[nodiscard]] constexpr bool is(Numbers... numbers) const noexcept {
    return ((number_ == numbers) || ...);
  }
  // "Permission denied".
  [[nodiscard]] std::string message() const;

 private:
  int number_;
};

template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : value_(std::in_place_index<0>, std::move(value)) {}    // NOLINT
  Result(Errno error) noexcept : value_(std::in_place_index<1>, error) {}  // NOLINT

  [[nodiscard]] explicit operator bool() const noexcept { return value_.index() == 0; }
  [[nodiscard]] T& operator*() noexcept { return *operator->(); }
  [[nodiscard]] const T& operator*() const noexcept { return *operator->(); }
  [[nodiscard]] T* operator->() noexcept { return std::get_if<0>(&value_); }
  [[nodiscard]] const T* operator->() const noexcept { return std::get_if<0>(&value_); }
  // There is no value.
  [[nodiscard]] Errno error() const noexcept {
    assert(!*this);
    return *std::get_if<1>(&value_);
  }
  // Whether there is no value because of one of these numbers.
  template <typename... Numbers>
  [[nodiscard]] bool failed_with(Numbers... numbers) const noexcept {
    return !*this && error().is(numbers...);
  }

 private:
  std::variant<T, Errno> value_;
};

// Whether something was done.
template <>
class [[nodiscard]] Result<void> {
 public:
  constexpr Result() noexcept = default;                               // it was
  constexpr Result(Errno error) noexcept : number_(error.number()) {}  // NOLINT
  template <typename T>
  explicit Result(const Result<T>& other) noexcept : number_(other ? 0 : other.error().number()) {}

  [[nodiscard]] explicit constexpr operator bool() const noexcept { return number_ == 0; }
  // It was not done.
  [[nodiscard]] constexpr Errno error() const noexcept {
    assert(number_ != 0);
    return Errno(number_);
  }
  template <typename... Numbers>
  [[nodiscard]] constexpr bool failed_with(Numbers... numbers) const noexcept {
    return !*this && error().is(numbers...);
  }
  // Calls `next` if it was done; its answer is a Result.
  template <typename Next>
  [[nodiscard]] auto and_then(const Next& next) const -> decltype(next()) {
    return *this ? next() : error();
  }

 private:
  int number_ = 0;
};

static_assert(std::is_trivially_copyable_v<Result<void>> && sizeof(Result<void>) == sizeof(int));
static_assert(std::is_trivially_copyable_v<Result<std::size_t>> &&
              sizeof(Result<std::size_t>) == 2 * sizeof(std::size_t));  // in registers

}  // namespace paes
