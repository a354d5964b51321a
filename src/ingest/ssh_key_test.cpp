#include "ingest/ssh_key.h"

#include <gtest/gtest.h>

namespace muster {
namespace {

const std::string kEd25519 = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGUACIIJyVLk8LgCSLc3afomEIa7l/p0FDRlGsU6sv82";
const std::string kEcdsa =
    "ecdsa-sha2-nistp256 AAAAE2VjZHNhLXNoYTItbmlzdHAyNTYAAAAIbmlzdHAyNTYAAABBBDB8sn6yDpYaAP1sATolF8K1P8CPNnqtQJkEtS"
    "+f4A6i2Mwqzi8ZXVQ9A+TmRu2AeuQ1fRdpWBWiRiZoKPPhnqg=";
const std::string kRsa2048 =
    "ssh-rsa AAAAB3NzaC1yc2EAAAADAQABAAABAQDOuUuG+GZfa9LtodZfpK1rAVG2gKAbjFbFpdZTEzOtNsypn2yEpJ02APOaFJYAYuWDwgjpSz"
    "SyQd+nmTHYfydXhDETrzaIiuQun8igtMXDsfYT7JltAPTkLccsXw0WvQVDhVLkbPzOUxiO4wmiCCCHC+PmgOpVr024Dw9qVBNsULr+ZDVECsOC"
    "yie1QvM4yHmAPtswfRla4rfnbjmqPiAsHHWTHhu5P6DJaayvkfICjC7s1CaOyeR5C/8TIF3lrJW9mcsEeA3qGh+dzpSCPaELI2df/DJgk4oQna"
    "7ZenOicsmQHQvRPuYKbVGsUjDy0uO4E8CsUNKyDo4NHV1sue71";
const std::string kRsa1024 =
    "ssh-rsa AAAAB3NzaC1yc2EAAAADAQABAAAAgQDANWY/IEwNcz5OyEnf8CLHnfsWqNppb0RDaMBoINBUNhY7a1BGoNL/uIlnkPnLopCIhHMy0p"
    "WXJEbcrihn7vy31WfQ/va7KjAoPPxjHPkAn4OVFsKfT2Yb/fQBzG4vuNubKuPReaUx/CE0VFgBM3QoQSixM1MugUvvGOxqHFwDGw==";

std::string why_not(std::string_view text) {
  const auto keys = parse_ssh_keys(text, "k.pub");
  EXPECT_FALSE(keys.has_value());
  return keys ? "" : keys.error().what;
}

TEST(SshKey, AKeyOfEachKindIsTakenAsSshKeygenWroteIt) {
  for (const std::string& key : {kEd25519 + " ann@desk", kEcdsa, kRsa2048 + " r"}) {
    const auto keys = parse_ssh_keys(key + "\n", "k.pub");
    ASSERT_TRUE(keys.has_value()) << keys.error().what;
    EXPECT_EQ(*keys, std::vector<std::string>{key});
  }
}

TEST(SshKey, AFileMayHoldSeveralBetweenCommentsAndBlankLines) {
  const auto keys = parse_ssh_keys("# of ann\r\n\n" + kEd25519 + "  ann\r\n\t" + kEcdsa + "\n", "k.pub");
  ASSERT_TRUE(keys.has_value()) << keys.error().what;
  EXPECT_EQ(*keys, (std::vector<std::string>{kEd25519 + " ann", kEcdsa}));
}

TEST(SshKey, APrivateKeyIsRefusedAndNothingOfItIsTold) {
  const std::string secret = "b3BlbnNzaC1rZXktdjEAAAAABG5vbmU";
  for (const char* kind : {"OPENSSH PRIVATE KEY", "RSA PRIVATE KEY", "ENCRYPTED PRIVATE KEY"}) {
    const std::string why = why_not(kEd25519 + "\n-----BEGIN " + kind + "-----\n" + secret + "\n-----END " + kind + "-----\n");
    EXPECT_EQ(why, "k.pub holds a private key, which no node may be given");
  }
  EXPECT_EQ(why_not("PuTTY-User-Key-File-3: ssh-ed25519\n"), "k.pub holds a private key, which no node may be given");
  EXPECT_EQ(why_not(secret + "\n").find(secret), std::string::npos) << "without its first line it is a secret all the same";
}

TEST(SshKey, WhatIsCutOffOrOfAnotherKindIsNamedWithItsLine) {
  EXPECT_EQ(why_not("\n" + kEd25519.substr(0, 60) + "\n"),
            "k.pub:2: no public key of OpenSSH: what follows ssh-ed25519 is no such key, or is cut off");
  EXPECT_NE(why_not(kEd25519 + "AAAA"), "");
  EXPECT_EQ(why_not("ssh-rsa" + kEcdsa.substr(kEcdsa.find(' '))),
            "k.pub:1: no public key of OpenSSH: it says ssh-rsa and holds another kind of key");
  EXPECT_EQ(why_not("command=\"id\" " + kEd25519),
            "k.pub:1: no public key of OpenSSH: it does not begin with a kind of key, as ssh-ed25519 and ssh-rsa are");
  EXPECT_EQ(why_not(kRsa1024), "k.pub:1: no public key of OpenSSH: RSA keys of less than 2048 bits can be broken");
  EXPECT_NE(why_not("ssh-dss AAAAB3NzaC1kc3M= a").find("sshd takes no DSA keys any more"), std::string::npos);
  EXPECT_NE(why_not("ssh-ed25519-cert-v01@openssh.com AAAA").find("certificate"), std::string::npos);
  EXPECT_NE(why_not("---- BEGIN SSH2 PUBLIC KEY ----\n").find("not as OpenSSH writes it"), std::string::npos);
}

TEST(SshKey, AFileWithoutAKeyIsNone) {
  EXPECT_EQ(why_not(""), "k.pub holds no public key");
  EXPECT_EQ(why_not("# nothing\n\n"), "k.pub holds no public key");
}

TEST(SshKey, ACommentCannotEndALineOrAString) {
  const auto keys = parse_ssh_keys(kEd25519 + " a\x1b[31m\"b\\\n", "k.pub");
  ASSERT_TRUE(keys.has_value());
  EXPECT_EQ(keys->front(), kEd25519 + " a?[31m?b?");
}

}  // namespace
}  // namespace muster
