// SPDX-License-Identifier: Apache-2.0
#include "cli/mount_presence.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <fstream>

#include "core/secret.hpp"

namespace paes::cli {

namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr char written_byte = 1;
// They are of one user, who has more than one client only by mistake.
constexpr std::size_t most_clients = 64;
// The mount that had this device before has gone, and its program is about to withdraw.
constexpr int most_waits_for_predecessor = 200;
constexpr milliseconds pause_between_waits{10};
// Anyone can add names, so the search for the right one has an end.
constexpr milliseconds patience_for_names{1000};

struct Address {
  sockaddr_un name{};
  socklen_t bytes = 0;
};

// What the names of all programs for a device begin with.
std::string beginning_of_names(const std::string& device) { return "paes-mount/" + device; }

std::string new_name(const std::string& device) {
  std::array<std::uint8_t, 16> chosen{};
  random_bytes(chosen);
  std::string name = beginning_of_names(device) + "/";
  for (const std::uint8_t byte : chosen) {
    name += fmt::format("{:02x}", byte);
  }
  return name;
}

// The names that are taken for a device, as the system lists them (proc(5)). Anyone can add some.
// Those that are not read by the deadline are missing.
std::vector<std::string> taken_names(const std::string& device, steady_clock::time_point deadline) {
  const std::string beginning = beginning_of_names(device);
  std::vector<std::string> names;
  std::ifstream file("/proc/self/net/unix");  // /proc may show processes alone
  for (std::string line; steady_clock::now() < deadline && std::getline(file, line);) {
    const std::size_t at = line.find(" @" + beginning);
    if (at != std::string::npos) {
      std::string name = line.substr(at + 2);
      if (name.size() == beginning.size() || name[beginning.size()] == '/') {
        names.push_back(std::move(name));
      }
    }
  }
  std::sort(names.begin(), names.end());  // each client that was accepted has the name once more
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

Address address_of(const std::string& text) {
  Address address;
  address.name.sun_family = AF_UNIX;
  // A zero byte in front makes the name abstract.
  const std::size_t bytes = std::min(text.size(), sizeof address.name.sun_path - 1);
  std::memcpy(&address.name.sun_path[1], text.data(), bytes);
  address.bytes = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + bytes);
  return address;
}

Descriptor new_socket() {
  return Descriptor(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
}

std::optional<ucred> peer_of(const Descriptor& socket) {
  ucred peer{};
  socklen_t bytes = sizeof peer;
  return getsockopt(socket.number(), SOL_SOCKET, SO_PEERCRED, &peer, &bytes) == 0
             ? std::optional(peer)
             : std::nullopt;
}

bool is_readable(int descriptor) {
  pollfd event = {descriptor, POLLIN, 0};
  return poll(&event, 1, 0) > 0;
}

// False when the time is over.
bool wait_readable(int descriptor, const Cancel& cancel, steady_clock::time_point deadline) {
  for (;;) {
    const auto left = std::chrono::ceil<milliseconds>(deadline - steady_clock::now());
    std::array<pollfd, 2> events = {{{descriptor, POLLIN, 0}, {cancel.descriptor(), POLLIN, 0}}};
    const int found = poll(events.data(), events.size(),
                           static_cast<int>(std::clamp<std::int64_t>(left.count(), 0, 1 << 30)));
    if (found > 0 && events[0].revents != 0) {
      return true;
    }
    cancel.check();
    if (found == 0 && left.count() <= 0) {
      return false;
    }
  }
}

}  // namespace

void MountPresence::announce(const std::string& device) noexcept {
  try {
    MountedPlace place;
    place.device = device;
    place.user = geteuid();
    for (int waits = 0; waits < most_waits_for_predecessor && MountProcess::find(place); ++waits) {
      std::this_thread::sleep_for(pause_between_waits);
    }
    Descriptor listener = new_socket();
    Descriptor stop(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    const Address address = address_of(new_name(device));
    if (bind(listener.number(), reinterpret_cast<const sockaddr*>(&address.name), address.bytes) !=
            0 ||
        listen(listener.number(), SOMAXCONN) != 0 || !stop.is_open()) {
      return;
    }
    listener_ = std::move(listener);
    stop_ = std::move(stop);
    // Signals that ask to stop are for the first thread.
    sigset_t all;
    sigset_t before;
    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before);
    try {
      thread_ = std::thread([this] { serve(); });
    } catch (...) {
      listener_ = Descriptor();
    }
    (void)pthread_sigmask(SIG_SETMASK, &before, nullptr);
  } catch (...) {
    listener_ = Descriptor();  // without memory for a name
  }
}

// False if nobody waits to be accepted.
bool MountPresence::take_client() noexcept {
  Descriptor client(accept4(listener_.number(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (!client.is_open()) {
    return errno == EINTR || errno == ECONNABORTED;
  }
  const std::optional<ucred> peer = peer_of(client);
  const bool may_ask = peer && (peer->uid == 0 || peer->uid == geteuid());
  if (may_ask && clients_.size() < most_clients) {
    try {
      clients_.push_back(std::move(client));
    } catch (...) {
      return true;  // it sees that nobody answers
    }
  }
  return true;
}

void MountPresence::serve() noexcept {
  for (;;) {
    // Clients that have given up make room: they are looked at when somebody comes.
    std::array<pollfd, 2> events = {{{listener_.number(), POLLIN, 0}, {stop_.number(), POLLIN, 0}}};
    if (poll(events.data(), events.size(), -1) < 0) {
      continue;
    }
    if (events[1].revents != 0) {
      return;
    }
    std::erase_if(clients_, [](const Descriptor& client) { return is_readable(client.number()); });
    (void)take_client();
  }
}

void MountPresence::withdraw() noexcept {
  if (thread_.joinable()) {
    const std::uint64_t one = 1;
    [[maybe_unused]] const ssize_t written = write(stop_.number(), &one, sizeof one);
    thread_.join();
  }
  while (listener_.is_open() && take_client()) {
  }
  listener_ = Descriptor();
}

void MountPresence::report_written() noexcept {
  for (const Descriptor& client : clients_) {
    (void)send(client.number(), &written_byte, 1, MSG_NOSIGNAL);
  }
}

std::optional<MountProcess> MountProcess::find(const MountedPlace& place) {
  const auto deadline = steady_clock::now() + patience_for_names;
  for (const std::string& name : taken_names(place.device, deadline)) {
    if (std::optional<MountProcess> found = connect_to(name, place)) {
      return found;
    }
    if (steady_clock::now() > deadline) {
      break;
    }
  }
  return std::nullopt;
}

std::optional<MountProcess> MountProcess::connect_to(const std::string& name,
                                                     const MountedPlace& place) {
  MountProcess found;
  found.socket_ = new_socket();
  const Address address = address_of(name);
  if (!found.socket_.is_open() ||
      connect(found.socket_.number(), reinterpret_cast<const sockaddr*>(&address.name),
              address.bytes) != 0) {
    return std::nullopt;
  }
  // Anyone can take a name, but not be another user.
  const std::optional<ucred> peer = peer_of(found.socket_);
  if (!peer || (peer->uid != 0 && place.user != peer->uid)) {
    return std::nullopt;
  }
  if (peer->pid > 0) {
    found.process_ = Descriptor(static_cast<int>(syscall(SYS_pidfd_open, peer->pid, 0)));
    found.number_ = peer->pid;
    // What completes the writes of a killed program holds its socket, while another mount may
    // already have the device.
    if (found.process_.is_open() ? is_readable(found.process_.number()) : errno == ESRCH) {
      return std::nullopt;
    }
  }
  // If the connection has not ended, the number was still that of its process.
  if (is_readable(found.socket_.number())) {
    return std::nullopt;
  }
  return found;
}

MountProcess::End MountProcess::wait_for_end(const Cancel& cancel,
                                             steady_clock::time_point deadline) {
  for (;;) {
    if (!wait_readable(socket_.number(), cancel, deadline)) {
      return End::still_runs;
    }
    char byte = 0;
    const ssize_t bytes = recv(socket_.number(), &byte, 1, MSG_DONTWAIT);
    if (bytes > 0) {
      has_written_ = true;
    } else if (bytes == 0 || (errno != EINTR && errno != EAGAIN)) {
      break;
    }
  }
  if (process_.is_open() && !wait_readable(process_.number(), cancel, deadline)) {
    return End::still_runs;
  }
  return has_written_ ? End::written : End::lost;
}

}  // namespace paes::cli
