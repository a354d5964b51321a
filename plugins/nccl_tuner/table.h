// The tuner table's bytes, and how they are checked and searched: docs/formats/tuner_table.md. Plain C, nothing but arithmetic on
// bytes that are already in memory: once a table was accepted, a lookup takes no lock, allocates nothing and asks the system
// nothing.
#ifndef MUSTER_TUNER_TABLE_H
#define MUSTER_TUNER_TABLE_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum {
  TABLE_VERSION = 1,
  TABLE_BYTES_MAX = 16 << 20,
  TABLE_HASH_AT = 24,
  TABLE_COLLECTIVES = 5,
  TABLE_ALGORITHMS = 7,
  TABLE_PROTOCOLS = 3,
  TABLE_CHANNELS_MAX = 64,
  TABLE_RANKS_MAX = 1 << 24,
  TABLE_CHUNK_MAX = 64 << 20
};
#define TABLE_MAGIC "MUSTUNE\n"
#define TABLE_BYTE_ORDER 0x01020304u

struct table_header {
  uint8_t magic[8];
  uint32_t byte_order;
  uint16_t version;
  uint16_t header_bytes;
  uint64_t file_bytes;
  uint64_t hash;  // CRC-64 of all other bytes
  uint32_t entries;
  uint32_t spans;
  uint16_t margin_permille;  // a choice that promises no more is left to NCCL
  uint16_t reserved;
  uint32_t nccl_version;  // with which it was measured
  uint64_t reserved_too[2];
};

struct table_entry {  // sorted by the key: these fields in this order
  uint8_t collective;
  uint8_t registered;
  uint16_t reserved;
  uint32_t nodes;
  uint32_t ranks_per_node;
  uint32_t nvlink_domain;
  uint32_t first_span;
  uint32_t spans;
  uint64_t reserved_too;
};

struct table_span {  // holds from this size up to the next span's
  uint64_t from_bytes;
  int8_t algorithm;  // NCCL's number, or -1: NCCL's own choice
  int8_t protocol;
  uint16_t channels;     // 0: NCCL's own number
  uint32_t chunk_bytes;  // 0: NCCL's own size
  uint16_t gain_permille;
  uint16_t noise_permille;
  uint32_t default_ns;
  uint32_t chosen_ns;
  uint32_t reserved;
};

struct table {
  const struct table_header* header;
  const struct table_entry* entries;
  const struct table_span* spans;
};

// What holds for one collective in one communicator: the same entry twice, or those of the next smaller and next larger number of
// ranks that were measured.
struct table_slot {
  const struct table_span* below;
  const struct table_span* above;
  uint32_t below_count;
  uint32_t above_count;
};

// CRC-64 as in xz. Each wrong byte, and each run of up to 64 wrong bits, changes it for certain; and it needs no library.
static inline uint64_t table_crc64(uint64_t crc, const uint8_t* bytes, size_t count) {
  // By half bytes: sixteen constants rather than a table that somebody would have to fill.
  static const uint64_t half[16] = {0x0000000000000000u, 0x7d9ba13851336649u, 0xfb374270a266cc92u, 0x86ace348f355aadbu,
                                    0x64b62bcaebc387a1u, 0x192d8af2baf0e1e8u, 0x9f8169ba49a54b33u, 0xe21ac88218962d7au,
                                    0xc96c5795d7870f42u, 0xb4f7f6ad86b4690bu, 0x325b15e575e1c3d0u, 0x4fc0b4dd24d2a599u,
                                    0xadda7c5f3c4488e3u, 0xd041dd676d77eeaau, 0x56ed3e2f9e224471u, 0x2b769f17cf112238u};
  crc = ~crc;
  for (size_t i = 0; i < count; ++i) {
    crc ^= bytes[i];
    crc = half[crc & 15] ^ (crc >> 4);
    crc = half[crc & 15] ^ (crc >> 4);
  }
  return ~crc;
}

static inline uint64_t table_hash(const uint8_t* bytes, size_t count) {
  return table_crc64(table_crc64(0, bytes, TABLE_HASH_AT), bytes + TABLE_HASH_AT + 8, count - TABLE_HASH_AT - 8);
}

static inline int table_key_order(const struct table_entry* a, const struct table_entry* b) {
  if (a->collective != b->collective) return a->collective < b->collective ? -1 : 1;
  if (a->registered != b->registered) return a->registered < b->registered ? -1 : 1;
  if (a->nodes != b->nodes) return a->nodes < b->nodes ? -1 : 1;
  if (a->ranks_per_node != b->ranks_per_node) return a->ranks_per_node < b->ranks_per_node ? -1 : 1;
  if (a->nvlink_domain != b->nvlink_domain) return a->nvlink_domain < b->nvlink_domain ? -1 : 1;
  return 0;
}

static inline int table_span_right(const struct table_span* s) {
  if (s->reserved != 0) return 0;
  if (s->algorithm < 0) return s->algorithm == -1 && s->protocol == -1 && s->channels == 0 && s->chunk_bytes == 0;
  return s->algorithm < TABLE_ALGORITHMS && s->protocol >= 0 && s->protocol < TABLE_PROTOCOLS &&
         s->channels <= TABLE_CHANNELS_MAX && s->chunk_bytes <= TABLE_CHUNK_MAX;
}

static inline int table_count_right(uint32_t ranks) { return ranks >= 1 && ranks <= TABLE_RANKS_MAX; }

static inline int table_entry_right(const struct table* t, uint32_t i, uint64_t taken) {
  const struct table_entry* e = &t->entries[i];
  if (e->collective >= TABLE_COLLECTIVES || e->registered > 1 || e->reserved != 0 || e->reserved_too != 0) return 0;
  if (!table_count_right(e->nodes) || !table_count_right(e->ranks_per_node) || !table_count_right(e->nvlink_domain)) return 0;
  if (i > 0 && table_key_order(e - 1, e) >= 0) return 0;
  if (e->spans == 0 || e->first_span != taken || taken + e->spans > t->header->spans) return 0;
  const struct table_span* s = &t->spans[e->first_span];
  for (uint32_t k = 0; k < e->spans; ++k) {
    if (!table_span_right(&s[k]) || (k > 0 && s[k].from_bytes <= s[k - 1].from_bytes)) return 0;
  }
  return 1;
}

// NULL when the bytes (aligned to 8) are a table, which `t` then points into; else what is wrong with them.
static inline const char* table_open(const uint8_t* bytes, size_t count, struct table* t) {
  const struct table_header* h = (const struct table_header*)(const void*)bytes;
  if (count < 8 || memcmp(bytes, TABLE_MAGIC, 8) != 0) return "this is no tuner table";
  if (count < sizeof *h || count > TABLE_BYTES_MAX) return "it is cut short or too long";
  if (h->byte_order != TABLE_BYTE_ORDER) return "its byte order is not this machine's";
  if (h->version != TABLE_VERSION) return "it has another version than this plugin reads";
  if (h->file_bytes != count) return "it is cut short or too long";
  if (h->hash != table_hash(bytes, count)) return "it is damaged: its hash is wrong";
  const uint64_t entries = h->entries, spans = h->spans;
  if (h->header_bytes != sizeof *h || h->reserved != 0 || h->reserved_too[0] != 0 || h->reserved_too[1] != 0 ||
      sizeof *h + entries * sizeof *t->entries + spans * sizeof *t->spans != count) {
    return "its header contradicts itself";
  }
  t->header = h;
  t->entries = (const struct table_entry*)(const void*)(bytes + sizeof *h);
  t->spans = (const struct table_span*)(const void*)(bytes + sizeof *h + entries * sizeof *t->entries);
  uint64_t taken = 0;
  for (uint32_t i = 0; i < h->entries; ++i) {
    if (!table_entry_right(t, i, taken)) return "its entries contradict each other";
    taken += t->entries[i].spans;
  }
  return taken == spans ? NULL : "its entries contradict each other";
}

// Whether an entry lies on the line of communicators that differ in the number of nodes alone or, within one node, of ranks. One
// node and several are different worlds: there is nothing between them to interpolate. nvlink_domain 0: NCCL did not tell.
static inline int table_on_line(const struct table_entry* e, uint32_t nodes, uint32_t ranks_per_node, uint32_t nvlink_domain) {
  const int same = nvlink_domain == 0 || e->nvlink_domain == nvlink_domain;
  if (nodes > 1) return e->nodes > 1 && e->ranks_per_node == ranks_per_node && same;
  const int whole = nvlink_domain == ranks_per_node && e->nvlink_domain == e->ranks_per_node;
  return e->nodes == 1 && (same || whole);
}

// 1 when the table has something for this collective in this communicator. Called when a communicator starts.
static inline int table_find(const struct table* t, int collective, int registered, uint32_t nodes, uint32_t ranks_per_node,
                             uint32_t nvlink_domain, struct table_slot* slot) {
  const struct table_entry *below = NULL, *above = NULL;
  const uint32_t wanted = nodes > 1 ? nodes : ranks_per_node;
  uint32_t below_at = 0, above_at = 0;
  int below_twice = 0, above_twice = 0;
  for (uint32_t i = 0; i < t->header->entries; ++i) {
    const struct table_entry* e = &t->entries[i];
    if (e->collective != collective || e->registered != registered || !table_on_line(e, nodes, ranks_per_node, nvlink_domain))
      continue;
    const uint32_t at = nodes > 1 ? e->nodes : e->ranks_per_node;
    if (at <= wanted && (below == NULL || at >= below_at)) {
      below_twice = below != NULL && at == below_at;
      below = e;
      below_at = at;
    }
    if (at >= wanted && (above == NULL || at <= above_at)) {
      above_twice = above != NULL && at == above_at;
      above = e;
      above_at = at;
    }
  }
  memset(slot, 0, sizeof *slot);
  // Two entries in one place differ in the NVLink domain, and this communicator's is not known: neither is taken.
  if (below == NULL || above == NULL || below_twice || above_twice) return 0;
  slot->below = &t->spans[below->first_span];
  slot->below_count = below->spans;
  slot->above = &t->spans[above->first_span];
  slot->above_count = above->spans;
  return 1;
}

static inline const struct table_span* table_search(const struct table_span* spans, uint32_t count, uint64_t bytes,
                                                    uint16_t margin) {
  uint32_t low = 0, high = count;  // the first span that begins after `bytes`
  while (low < high) {
    const uint32_t middle = low + (high - low) / 2;
    if (spans[middle].from_bytes <= bytes) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  if (low == 0) return NULL;
  const struct table_span* s = &spans[low - 1];
  const int worth = s->gain_permille > margin && s->gain_permille > s->noise_permille;
  return s->algorithm >= 0 && worth ? s : NULL;
}

// The choice for this size, or NULL for NCCL's own: a gain within the noise, or neighbours in the number of ranks that differ.
static inline const struct table_span* table_choose(const struct table* t, const struct table_slot* slot, uint64_t bytes) {
  const uint16_t margin = t->header->margin_permille;
  const struct table_span* a = table_search(slot->below, slot->below_count, bytes, margin);
  if (a == NULL || slot->above == slot->below) return a;
  const struct table_span* b = table_search(slot->above, slot->above_count, bytes, margin);
  if (b == NULL || a->algorithm != b->algorithm || a->protocol != b->protocol || a->channels != b->channels ||
      a->chunk_bytes != b->chunk_bytes) {
    return NULL;
  }
  return a;
}

#endif
