/* Helpers of generated programs; the generator copies this text into each of them, after SW_LIMBS
 * was defined. Shifts take any count; division by zero gives zero. */

typedef __int128 sw_i128;
typedef unsigned __int128 sw_u128;

#define SW_INLINE static inline __attribute__((unused, always_inline))

/* A field's value. As a function, so that the compiler doesn't compare two neighbours in memory at
 * once: that would put headers into memory that it can keep in registers, and load what was just
 * stored in parts. */
SW_INLINE uint64_t sw_value(uint64_t value) { return value; }

/* ---- big-endian memory ---- */

SW_INLINE uint64_t sw_load16(const uint8_t *p)
{
    uint16_t v;
    memcpy(&v, p, 2);
    return __builtin_bswap16(v);
}
SW_INLINE uint64_t sw_load32(const uint8_t *p)
{
    uint32_t v;
    memcpy(&v, p, 4);
    return __builtin_bswap32(v);
}
SW_INLINE uint64_t sw_load64(const uint8_t *p)
{
    uint64_t v;
    memcpy(&v, p, 8);
    return __builtin_bswap64(v);
}
SW_INLINE void sw_store16(uint8_t *p, uint64_t x)
{
    uint16_t v = __builtin_bswap16((uint16_t)x);
    memcpy(p, &v, 2);
}
SW_INLINE void sw_store32(uint8_t *p, uint64_t x)
{
    uint32_t v = __builtin_bswap32((uint32_t)x);
    memcpy(p, &v, 4);
}
SW_INLINE void sw_store64(uint8_t *p, uint64_t x)
{
    uint64_t v = __builtin_bswap64(x);
    memcpy(p, &v, 8);
}

/* n bytes, 1 to 8; n is a constant. */
SW_INLINE uint64_t sw_load(const uint8_t *p, unsigned n)
{
    switch (n) {
    case 1: return p[0];
    case 2: return sw_load16(p);
    case 3: return sw_load16(p) << 8 | p[2];
    case 4: return sw_load32(p);
    case 5: return sw_load32(p) << 8 | p[4];
    case 6: return sw_load32(p) << 16 | sw_load16(p + 4);
    case 7: return sw_load32(p) << 24 | sw_load16(p + 4) << 8 | p[6];
    default: return sw_load64(p);
    }
}

SW_INLINE void sw_store(uint8_t *p, unsigned n, uint64_t x)
{
    switch (n) {
    case 1: p[0] = (uint8_t)x; break;
    case 2: sw_store16(p, x); break;
    case 3:
        sw_store16(p, x >> 8);
        p[2] = (uint8_t)x;
        break;
    case 4: sw_store32(p, x); break;
    case 5:
        sw_store32(p, x >> 8);
        p[4] = (uint8_t)x;
        break;
    case 6:
        sw_store32(p, x >> 16);
        sw_store16(p + 4, x);
        break;
    case 7:
        sw_store32(p, x >> 24);
        sw_store16(p + 4, x >> 8);
        p[6] = (uint8_t)x;
        break;
    default: sw_store64(p, x); break;
    }
}

/* `width` bits (1 to 64) that start `bit` bits after p. */
SW_INLINE uint64_t sw_bits(const uint8_t *p, size_t bit, unsigned width)
{
    p += bit / 8;
    unsigned skip = bit % 8, n = (skip + width + 7) / 8;
    uint64_t mask = width == 64 ? ~UINT64_C(0) : (UINT64_C(1) << width) - 1;
    if (n <= 8) return sw_load(p, n) >> (8 * n - skip - width) & mask;
    return (sw_load64(p) << (skip + width - 64) | p[8] >> (72 - skip - width)) & mask;
}

/* Any number of bits into limbs, low limb first. */
SW_INLINE void sw_get_limbs(uint64_t *to, const uint8_t *p, size_t bit, unsigned width)
{
    for (unsigned i = 0; width > 0; i++) {
        unsigned take = width < 64 ? width : 64;
        width -= take;
        to[i] = sw_bits(p, bit + width, take);
    }
}

/* Writes `width` bits (1 to 64) `bit` bits after p; the bits around them stay. */
SW_INLINE void sw_put_bits(uint8_t *p, size_t bit, unsigned width, uint64_t value)
{
    while (width > 0) {
        unsigned room = 8 - bit % 8, take = width < room ? width : room;
        uint8_t mask = (uint8_t)(((1u << take) - 1) << (room - take));
        uint8_t bits = (uint8_t)(value >> (width - take) << (room - take)) & mask;
        p[bit / 8] = (uint8_t)((p[bit / 8] & ~mask) | bits);
        bit += take;
        width -= take;
    }
}

SW_INLINE void sw_put_limbs(uint8_t *p, size_t bit, unsigned width, const uint64_t *from)
{
    for (unsigned i = 0; width > 0; i++) {
        unsigned take = width < 64 ? width : 64;
        width -= take;
        sw_put_bits(p, bit + width, take, from[i]);
    }
}

SW_INLINE void sw_put_bytes(uint8_t *p, size_t bit, const uint8_t *from, size_t n)
{
    if (bit % 8 == 0) memcpy(p + bit / 8, from, n);
    else
        for (size_t i = 0; i < n; i++) sw_put_bits(p, bit + 8 * i, 8, from[i]);
}

SW_INLINE void sw_get_bytes(uint8_t *to, const uint8_t *p, size_t bit, size_t n)
{
    if (bit % 8 == 0) memcpy(to, p + bit / 8, n);
    else
        for (size_t i = 0; i < n; i++) to[i] = (uint8_t)sw_bits(p, bit + 8 * i, 8);
}

/* Whether two big-endian numbers are equal. */
static inline __attribute__((unused)) bool sw_equal_bytes(const uint8_t *a, size_t n,
                                                          const uint8_t *b, size_t m)
{
    for (; n > m; n--)
        if (*a++ != 0) return false;
    for (; m > n; m--)
        if (*b++ != 0) return false;
    return memcmp(a, b, n) == 0;
}

/* Extends the sign of the low `width` bits over n limbs. */
SW_INLINE void sw_sign_limbs(uint64_t *w, unsigned n, unsigned width)
{
    if (!(w[(width - 1) / 64] >> ((width - 1) % 64) & 1)) return;
    if (width % 64) w[width / 64] |= ~UINT64_C(0) << (width % 64);
    for (unsigned i = (width + 63) / 64; i < n; i++) w[i] = ~UINT64_C(0);
}

/* ---- the Internet checksum; sums of up to 2^12 integers of 48 bits, or of words added here
 * ---- */

SW_INLINE uint64_t sw_add_words(uint64_t sum, uint64_t x)
{
    return sum + (x >> 32) + (x & 0xffffffff);
}
SW_INLINE uint64_t sw_fold(uint64_t sum)
{
    sum = (sum >> 32) + (sum & 0xffffffff);
    sum = (sum >> 16) + (sum & 0xffff);
    sum = (sum >> 16) + (sum & 0xffff);
    sum = (sum >> 16) + (sum & 0xffff);
    return ~sum & 0xffff;
}

/* ---- up to 128 bits ---- */

SW_INLINE uint64_t sw_shl_u64(uint64_t x, uint64_t n) { return n < 64 ? x << n : 0; }
SW_INLINE uint64_t sw_shr_u64(uint64_t x, uint64_t n) { return n < 64 ? x >> n : 0; }
SW_INLINE int64_t sw_shr_i64(int64_t x, uint64_t n) { return x >> (n < 63 ? n : 63); }
SW_INLINE sw_u128 sw_shl_u128(sw_u128 x, uint64_t n) { return n < 128 ? x << n : 0; }
SW_INLINE sw_u128 sw_shr_u128(sw_u128 x, uint64_t n) { return n < 128 ? x >> n : 0; }
SW_INLINE sw_i128 sw_shr_i128(sw_i128 x, uint64_t n) { return x >> (n < 127 ? n : 127); }
SW_INLINE uint64_t sw_div_u64(uint64_t x, uint64_t y) { return y ? x / y : 0; }
SW_INLINE uint64_t sw_mod_u64(uint64_t x, uint64_t y) { return y ? x % y : 0; }
SW_INLINE sw_i128 sw_div_i128(sw_i128 x, sw_i128 y) { return y > 0 && x >= 0 ? x / y : 0; }
SW_INLINE sw_i128 sw_mod_i128(sw_i128 x, sw_i128 y) { return y > 0 && x >= 0 ? x % y : 0; }
SW_INLINE uint64_t sw_clamp_u64(uint64_t x, uint64_t lo, uint64_t hi)
{
    return x < lo ? lo : x > hi ? hi : x;
}
SW_INLINE int64_t sw_clamp_i64(int64_t x, int64_t lo, int64_t hi)
{
    return x < lo ? lo : x > hi ? hi : x;
}
SW_INLINE sw_i128 sw_clamp_i128(sw_i128 x, sw_i128 lo, sw_i128 hi)
{
    return x < lo ? lo : x > hi ? hi : x;
}

/* The low `width` bits (2 to 64) of x as a signed number. */
SW_INLINE int64_t sw_sign(uint64_t x, unsigned width)
{
    return (int64_t)(x << (64 - width)) >> (64 - width);
}
SW_INLINE sw_i128 sw_sign128(sw_u128 x, unsigned width)
{
    return (sw_i128)(x << (128 - width)) >> (128 - width);
}
SW_INLINE sw_u128 sw_u128_from(const uint64_t *w) { return (sw_u128)w[1] << 64 | w[0]; }
SW_INLINE void sw_u128_store(uint64_t *w, sw_u128 x)
{
    w[0] = (uint64_t)x;
    w[1] = (uint64_t)(x >> 64);
}

/* What BMv2 keeps of x in a signed field of `width` bits (2 to 63): it wraps values below the
 * smallest or above 2^width - 1, and leaves those between the largest and 2^width - 1 as they
 * are. */
SW_INLINE int64_t sw_signed_field(sw_i128 x, unsigned width)
{
    sw_i128 min = -((sw_i128)1 << (width - 1)), mask = ((sw_i128)1 << width) - 1;
    if (x >= min && x <= mask) return (int64_t)x;
    return (int64_t)sw_sign128((sw_u128)x, width);
}

/* An index into a stack of n elements; n, the spare element, if it is out of range. */
SW_INLINE size_t sw_index(uint64_t i, size_t n) { return i < n ? (size_t)i : n; }

#if SW_LIMBS > 0
/* ---- any width: two's complement in SW_LIMBS limbs, low limb first ---- */

typedef struct {
    uint64_t w[SW_LIMBS];
} sw_wide;
#define SW_WIDE static inline __attribute__((unused))

SW_WIDE bool sw_wide_negative(sw_wide x) { return x.w[SW_LIMBS - 1] >> 63; }
SW_WIDE sw_wide sw_wide_from_u64(uint64_t x)
{
    sw_wide r = {{x}};
    return r;
}
SW_WIDE sw_wide sw_wide_from_u128(sw_u128 x)
{
    sw_wide r = {{(uint64_t)x}};
    r.w[1] = (uint64_t)(x >> 64);
    return r;
}
SW_WIDE sw_wide sw_wide_from_i128(sw_i128 x)
{
    sw_wide r;
    memset(&r, x < 0 ? 0xff : 0, sizeof r);
    r.w[0] = (uint64_t)x;
    r.w[1] = (uint64_t)((sw_u128)x >> 64);
    return r;
}
SW_WIDE sw_wide sw_wide_from_i64(int64_t x) { return sw_wide_from_i128(x); }
SW_WIDE sw_wide sw_wide_from_limbs(const uint64_t *w, unsigned n)
{
    sw_wide r = {{0}};
    memcpy(r.w, w, 8 * n);
    return r;
}
SW_WIDE sw_wide sw_wide_from_signed(const uint64_t *w, unsigned n)
{
    sw_wide r;
    memset(&r, w[n - 1] >> 63 ? 0xff : 0, sizeof r);
    memcpy(r.w, w, 8 * n);
    return r;
}
SW_WIDE sw_u128 sw_wide_low128(sw_wide x) { return sw_u128_from(x.w); }
SW_WIDE sw_wide sw_wide_and(sw_wide a, sw_wide b)
{
    for (int i = 0; i < SW_LIMBS; i++) a.w[i] &= b.w[i];
    return a;
}
SW_WIDE sw_wide sw_wide_or(sw_wide a, sw_wide b)
{
    for (int i = 0; i < SW_LIMBS; i++) a.w[i] |= b.w[i];
    return a;
}
SW_WIDE sw_wide sw_wide_xor(sw_wide a, sw_wide b)
{
    for (int i = 0; i < SW_LIMBS; i++) a.w[i] ^= b.w[i];
    return a;
}
SW_WIDE sw_wide sw_wide_not(sw_wide a)
{
    for (int i = 0; i < SW_LIMBS; i++) a.w[i] = ~a.w[i];
    return a;
}
SW_WIDE sw_wide sw_wide_add(sw_wide a, sw_wide b)
{
    sw_u128 carry = 0;
    for (int i = 0; i < SW_LIMBS; i++) {
        carry += (sw_u128)a.w[i] + b.w[i];
        a.w[i] = (uint64_t)carry;
        carry >>= 64;
    }
    return a;
}
SW_WIDE sw_wide sw_wide_neg(sw_wide a) { return sw_wide_add(sw_wide_not(a), sw_wide_from_u64(1)); }
SW_WIDE sw_wide sw_wide_sub(sw_wide a, sw_wide b) { return sw_wide_add(a, sw_wide_neg(b)); }
SW_WIDE sw_wide sw_wide_mul(sw_wide a, sw_wide b)
{
    sw_wide r = {{0}};
    for (int i = 0; i < SW_LIMBS; i++) {
        uint64_t carry = 0;
        for (int j = 0; i + j < SW_LIMBS; j++) {
            sw_u128 t = (sw_u128)a.w[i] * b.w[j] + r.w[i + j] + carry;
            r.w[i + j] = (uint64_t)t;
            carry = (uint64_t)(t >> 64);
        }
    }
    return r;
}
SW_WIDE sw_wide sw_wide_shl(sw_wide a, uint64_t n)
{
    sw_wide r = {{0}};
    for (uint64_t i = n / 64; i < SW_LIMBS; i++) {
        uint64_t from = i - n / 64;
        r.w[i] = a.w[from] << (n % 64);
        if (n % 64 && from > 0) r.w[i] |= a.w[from - 1] >> (64 - n % 64);
    }
    return r;
}
SW_WIDE sw_wide sw_wide_shr(sw_wide a, uint64_t n)
{
    uint64_t fill = sw_wide_negative(a) ? ~UINT64_C(0) : 0;
    sw_wide r;
    for (uint64_t i = 0; i < SW_LIMBS; i++) {
        uint64_t low = n / 64 < SW_LIMBS - i ? a.w[i + n / 64] : fill;
        uint64_t high = n / 64 + 1 < SW_LIMBS - i ? a.w[i + n / 64 + 1] : fill;
        r.w[i] = n % 64 ? low >> (n % 64) | high << (64 - n % 64) : low;
    }
    return r;
}
SW_WIDE int sw_wide_compare(sw_wide a, sw_wide b)
{
    if (sw_wide_negative(a) != sw_wide_negative(b)) return sw_wide_negative(a) ? -1 : 1;
    for (int i = SW_LIMBS - 1; i >= 0; i--)
        if (a.w[i] != b.w[i]) return a.w[i] < b.w[i] ? -1 : 1;
    return 0;
}
SW_WIDE sw_wide sw_wide_clamp(sw_wide x, sw_wide lo, sw_wide hi)
{
    return sw_wide_compare(x, lo) < 0 ? lo : sw_wide_compare(x, hi) > 0 ? hi : x;
}
SW_WIDE sw_wide sw_wide_low(sw_wide x, unsigned width)
{ /* the low bits, unsigned */
    for (unsigned i = 0; i < SW_LIMBS; i++)
        if (64 * i >= width) x.w[i] = 0;
        else if (width - 64 * i < 64) x.w[i] &= (UINT64_C(1) << (width - 64 * i)) - 1;
    return x;
}
SW_WIDE sw_wide sw_wide_sign(sw_wide x, unsigned width)
{ /* the low bits, signed */
    unsigned up = 64 * SW_LIMBS - width;
    return sw_wide_shr(sw_wide_shl(x, up), up);
}
SW_WIDE sw_wide sw_wide_divide(sw_wide x, sw_wide y, bool remainder)
{
    sw_wide q = {{0}}, r = {{0}};
    if (sw_wide_negative(x) || sw_wide_compare(y, q) <= 0) return q;
    for (int i = 64 * SW_LIMBS - 1; i >= 0; i--) {
        r = sw_wide_shl(r, 1);
        r.w[0] |= x.w[i / 64] >> (i % 64) & 1;
        if (sw_wide_compare(r, y) >= 0) {
            r = sw_wide_sub(r, y);
            q.w[i / 64] |= UINT64_C(1) << (i % 64);
        }
    }
    return remainder ? r : q;
}
SW_WIDE sw_wide sw_wide_signed_field(sw_wide x, unsigned width)
{ /* see sw_signed_field */
    sw_wide bit = sw_wide_from_u64(1);
    sw_wide min = sw_wide_neg(sw_wide_shl(bit, width - 1)),
            mask = sw_wide_sub(sw_wide_shl(bit, width), bit);
    if (sw_wide_compare(x, min) >= 0 && sw_wide_compare(x, mask) <= 0) return x;
    return sw_wide_sign(x, width);
}
SW_WIDE sw_wide sw_wide_from_bytes(const uint8_t *p, unsigned n)
{
    sw_wide r = {{0}};
    sw_get_limbs(r.w, p, 0, 8 * n);
    return r;
}
SW_WIDE void sw_wide_to_bytes(uint8_t *p, unsigned n, sw_wide x) { sw_put_limbs(p, 0, 8 * n, x.w); }
#endif

/* ---- log_msg: text that is cut at SW_TEXT ---- */

enum { SW_TEXT = 1024 };

static inline __attribute__((unused)) size_t sw_text(char *to, size_t n, const char *text)
{
    while (*text && n < SW_TEXT - 1) to[n++] = *text++;
    to[n] = 0;
    return n;
}

static inline __attribute__((unused)) size_t sw_decimal(char *to, size_t n, sw_u128 x,
                                                        bool negative)
{
    char digits[48];
    size_t i = sizeof digits - 1;
    digits[i] = 0;
    if (negative) x = -x;
    do digits[--i] = (char)('0' + (int)(x % 10));
    while ((x /= 10) != 0);
    if (negative) digits[--i] = '-';
    return sw_text(to, n, digits + i);
}
