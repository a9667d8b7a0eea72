// SPDX-License-Identifier: Apache-2.0
// What the real gocryptfs stored (gocryptfs_answers.txt, made by gocryptfs_answers.py) is what paes
// stores or reads.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <memory>
#include <sstream>

#include "crypto/libcrypto.hpp"
#include "encoding/encodings.hpp"
#include "hex.hpp"
#include "kernel/registry.hpp"
#include "test_data.hpp"
#include "vault/content_key.hpp"
#include "vault/names.hpp"

namespace paes::vault {
namespace {

using libcrypto::bytes_of;
using libcrypto::text_of;
using test::from_hex;
using Buffer = std::vector<std::uint8_t>;

// The volumes of gocryptfs_answers.py.
Features features_of(const std::string& volume) {
  Features features;
  if (volume == "xchacha20_poly1305") {
    features.content = ContentCipher::xchacha20_poly1305;
  } else if (volume == "aes_siv") {
    features.content = ContentCipher::aes_siv;
  } else if (volume == "long_name_max") {
    features.long_name_max = 100;
  } else if (volume == "padded") {
    features.has_raw_base64 = false;
  } else if (volume == "plain_names") {
    features = {.has_plaintext_names = true,
                .has_directory_ivs = false,
                .has_long_names = false,
                .has_raw_base64 = false};
  } else if (volume == "no_folder_ivs") {
    features.has_directory_ivs = false;
  } else {
    EXPECT_EQ(volume, "aes_256_gcm");
  }
  return features;
}

Buffer derived(Bytes master_key, std::string_view use, std::size_t bytes = 32) {
  Buffer key(bytes);
  libcrypto::hkdf_sha256(master_key, {}, bytes_of(use), key);
  return key;
}

Buffer content_key_of(Bytes master_key, ContentCipher cipher) {
  switch (cipher) {
    case ContentCipher::aes_256_gcm:
      return derived(master_key, "AES-GCM file content encryption");
    case ContentCipher::xchacha20_poly1305:
      return derived(master_key, "XChaCha20-Poly1305 file content encryption");
    case ContentCipher::aes_siv:
      return derived(master_key, "AES-SIV file content encryption", 64);
  }
  return {};
}

Buffer bytes_in(const std::string& hex) { return hex == "-" ? Buffer() : from_hex(hex); }
std::string text_in(const std::string& hex) { return std::string(text_of(bytes_in(hex))); }

class Volume {
 public:
  Volume(Bytes master_key, const FolderIv& iv, const Features& features)
      : features_(features),
        iv_(features.has_directory_ivs ? iv : FolderIv{}),
        names_(derived(master_key, "EME filename encryption"), features, best_kernel(Cipher::aes)),
        content_(make_content_key(features.content, content_key_of(master_key, features.content),
                                  best_kernel(Cipher::aes))) {}

  void expect_name(const std::string& name, const std::string& stored) const {
    const std::string encoded = names_.encode(name, iv_);
    EXPECT_EQ(encoded, stored);
    EXPECT_FALSE(names_.is_long(encoded));
    EXPECT_EQ(names_.decode(stored, iv_), name);
    EXPECT_EQ(names_.kind_of(stored), StoredKind::name);
  }

  void expect_long_name(const std::string& name, const std::string& stored,
                        const std::string& whole) const {
    const std::string encoded = names_.encode(name, iv_);
    EXPECT_EQ(encoded, whole);
    EXPECT_TRUE(names_.is_long(encoded));
    EXPECT_EQ(names_.hashed(encoded), stored);
    EXPECT_EQ(names_.decode(whole, iv_), name);
    EXPECT_EQ(names_.kind_of(stored), StoredKind::long_name);
    EXPECT_EQ(names_.kind_of(stored + std::string(long_name_suffix)), StoredKind::long_name_file);
  }

  void expect_link(const std::string& target, const std::string& stored) const {
    EXPECT_EQ(open_link_target(*content_, stored, features_), target);
    EXPECT_EQ(link_target_length(*content_, stored, features_), target.size());
    EXPECT_EQ(seal_link_target(*content_, target, features_).size(), stored.size());
  }

  void expect_attribute(const std::string& name, Bytes value, const std::string& stored_name,
                        Bytes stored) const {
    EXPECT_EQ(names_.encode_attribute(name), stored_name);
    EXPECT_EQ(names_.decode_attribute(stored_name), name);
    EXPECT_EQ(open_attribute(*content_, stored), Buffer(value.begin(), value.end()));
    EXPECT_EQ(seal_attribute(*content_, value).size(), stored.size());
  }

  void expect_file(std::size_t bytes, Bytes stored) const {
    const BlockLayout layout = content_->layout();
    ASSERT_EQ(layout.stored_length(bytes), stored.size());
    EXPECT_EQ(layout.text_length(stored.size()), bytes);
    if (bytes == 0) {
      return;
    }
    Buffer want(bytes);
    for (std::size_t i = 0; i < bytes; ++i) {
      want[i] = static_cast<std::uint8_t>(i * 7 + i / 251);
    }
    FileId id;
    ASSERT_TRUE(parse_header(stored.first(header_bytes), id));
    Buffer text(bytes);
    EXPECT_EQ(open_blocks(*content_, id, 0, stored.subspan(header_bytes), text),
              (bytes + block_bytes - 1) / block_bytes);
    EXPECT_EQ(text, want);
    // The same IVs make the same file.
    Buffer again(stored.size());
    write_header(id, MutableBytes(again).first(header_bytes));
    for (std::size_t at = 0; at < bytes; at += block_bytes) {
      const std::uint64_t block = at / block_bytes;
      const std::size_t offset = layout.offset_of(block);
      const Bytes part = Bytes(want).subspan(at, std::min(block_bytes, bytes - at));
      content_->seal({block, &id}, stored.subspan(offset, layout.iv_bytes), part,
                     MutableBytes(again).subspan(offset, part.size() + layout.overhead()));
    }
    EXPECT_EQ(test::to_hex(again), test::to_hex(stored));
  }

 private:
  Features features_;
  FolderIv iv_;
  NameCipher names_;
  std::unique_ptr<ContentKey> content_;
};

TEST(Gocryptfs, StoresTheSame) {
  std::ifstream file(test::test_data("vault/gocryptfs_answers.txt"));
  Buffer master_key;
  FolderIv iv = {};
  std::unique_ptr<Volume> volume;
  std::map<std::string, int> seen;
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string kind;
    std::string a;
    std::string b;
    std::string c;
    std::string d;
    words >> kind >> a >> b >> c >> d;
    SCOPED_TRACE(line.substr(0, 100));
    ++seen[kind];
    if (kind == "master_key") {
      master_key = from_hex(a);
    } else if (kind == "folder_iv") {
      const Buffer bytes = from_hex(a);
      ASSERT_EQ(bytes.size(), iv.size());
      std::copy(bytes.begin(), bytes.end(), iv.begin());
    } else if (kind == "volume") {
      volume = std::make_unique<Volume>(master_key, iv, features_of(a));
    } else if (kind == "name") {
      volume->expect_name(text_in(a), text_in(b));
    } else if (kind == "long_name") {
      volume->expect_long_name(text_in(a), b, c);
    } else if (kind == "link") {
      volume->expect_link(text_in(a), text_in(b));
    } else if (kind == "attribute") {
      volume->expect_attribute(text_in(a), bytes_in(b), c, bytes_in(d));
    } else if (kind == "file") {
      Buffer stored;
      ASSERT_TRUE(b == "-" || base64::append_decoded_public(b, stored));
      volume->expect_file(std::stoul(a), stored);
    } else {
      FAIL() << "an unknown line";
    }
  }
  // Nothing was cut off.
  EXPECT_EQ(seen, (std::map<std::string, int>{{"master_key", 1},
                                              {"folder_iv", 1},
                                              {"volume", 7},
                                              {"name", 56},
                                              {"long_name", 9},
                                              {"link", 20},
                                              {"attribute", 15},
                                              {"file", 8}}));
}

}  // namespace
}  // namespace paes::vault
