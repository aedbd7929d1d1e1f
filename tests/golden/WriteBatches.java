import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import org.apache.kafka.common.compress.Compression;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.header.internals.RecordHeader;
import org.apache.kafka.common.record.TimestampType;
import org.apache.kafka.common.record.internal.CompressionType;
import org.apache.kafka.common.record.internal.MemoryRecords;
import org.apache.kafka.common.record.internal.MemoryRecordsBuilder;

/**
 * Writes batches with the classes of Kafka's own producer and brokers, in all three message formats.
 *
 * <p>java -cp 'KAFKA/jars/*' WriteBatches.java FOLDER
 *
 * <p>tests/support/golden.py knows the same records; the two must say the same.
 */
public class WriteBatches {
  static final long FIRST = 1000;
  static final long TIME = 1_700_000_000_000L;
  static final long APPEND_TIME = 1_800_000_000_000L;
  static final int MANY = 300;

  public static void main(String[] args) throws Exception {
    Path folder = Path.of(args[0]);
    for (byte magic = 0; magic <= 2; magic++) {
      for (CompressionType type : CompressionType.values()) {
        if (magic < 2 && type == CompressionType.ZSTD) continue;
        String name = "v" + magic + "-" + type.name().toLowerCase();
        write(folder.resolve(name + "-few.bin"), few(magic, type, TimestampType.CREATE_TIME));
        if (magic > 0) {
          write(folder.resolve(name + "-few-append.bin"), few(magic, type, TimestampType.LOG_APPEND_TIME));
        }
        if (type != CompressionType.NONE) {
          write(folder.resolve(name + "-many.bin"), many(magic, type));
        }
      }
    }
  }

  /** Nulls, empty strings, every byte, a timestamp that goes back, and holes between the offsets. */
  static MemoryRecordsBuilder few(byte magic, CompressionType type, TimestampType timestampType) {
    MemoryRecordsBuilder builder = builder(magic, type, timestampType);
    append(builder, magic, 0, TIME, null, text("v0"));
    append(builder, magic, 1, TIME + 1000, text("k1"), null);
    append(builder, magic, 4, TIME - 5000, text(""), text(""));
    append(builder, magic, 5, TIME + 2000, text("k3"), text("v3"),
        new RecordHeader("h1", text("x")), new RecordHeader("h2", (byte[]) null), new RecordHeader("ключ", text("")));
    append(builder, magic, 9, TIME + 3000, text("k4"), everyByte());
    return builder;
  }

  /** Enough bytes for several blocks of each codec. */
  static MemoryRecordsBuilder many(byte magic, CompressionType type) {
    MemoryRecordsBuilder builder = builder(magic, type, TimestampType.CREATE_TIME);
    for (int i = 0; i < MANY; i++) {
      append(builder, magic, i, TIME + i, text("key-" + i), text(("value-" + i + " ").repeat(100)));
    }
    return builder;
  }

  static MemoryRecordsBuilder builder(byte magic, CompressionType type, TimestampType timestampType) {
    long appendTime = timestampType == TimestampType.LOG_APPEND_TIME ? APPEND_TIME : -1;
    return MemoryRecords.builder(
        ByteBuffer.allocate(1 << 20), magic, Compression.of(type).build(), timestampType, FIRST, appendTime);
  }

  static void append(
      MemoryRecordsBuilder builder, byte magic, long delta, long time, byte[] key, byte[] value, Header... headers) {
    Header[] allowed = magic < 2 ? new Header[0] : headers;
    builder.appendWithOffset(FIRST + delta, magic == 0 ? -1 : time, key, value, allowed);
  }

  static byte[] text(String text) {
    return text.getBytes(StandardCharsets.UTF_8);
  }

  static byte[] everyByte() {
    byte[] all = new byte[256];
    for (int i = 0; i < all.length; i++) all[i] = (byte) i;
    return all;
  }

  static void write(Path path, MemoryRecordsBuilder builder) throws Exception {
    ByteBuffer buffer = builder.build().buffer();
    byte[] bytes = new byte[buffer.remaining()];
    buffer.get(bytes);
    Files.write(path, bytes);
  }
}
