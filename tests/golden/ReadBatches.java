import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HexFormat;
import java.util.List;
import java.util.stream.Stream;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.record.internal.MemoryRecords;
import org.apache.kafka.common.record.internal.Record;
import org.apache.kafka.common.record.internal.RecordBatch;
import org.apache.kafka.common.utils.Utils;

/**
 * Prints what Kafka's own classes read in files of batches: a line a record, bytes in hexadecimal, "-" for null.
 *
 * <p>java -cp 'KAFKA/jars/*' ReadBatches.java FOLDER
 */
public class ReadBatches {
  public static void main(String[] args) throws Exception {
    List<Path> files;
    try (Stream<Path> found = Files.list(Path.of(args[0]))) {
      files = found.sorted().toList();
    }
    for (Path file : files) {
      for (RecordBatch batch : MemoryRecords.readableRecords(ByteBuffer.wrap(Files.readAllBytes(file))).batches()) {
        batch.ensureValid();
        for (Record record : batch) {
          System.out.println(file.getFileName() + " " + show(record));
        }
      }
    }
  }

  static String show(Record record) {
    StringBuilder line = new StringBuilder();
    line.append(record.offset()).append(' ').append(record.timestamp());
    line.append(' ').append(hex(record.key())).append(' ').append(hex(record.value()));
    for (Header header : record.headers()) {
      ByteBuffer value = header.value() == null ? null : ByteBuffer.wrap(header.value());
      line.append(' ').append(hex(ByteBuffer.wrap(Utils.utf8(header.key())))).append(':').append(hex(value));
    }
    return line.toString();
  }

  static String hex(ByteBuffer bytes) {
    return bytes == null ? "-" : "x" + HexFormat.of().formatHex(Utils.toArray(bytes));
  }
}
