import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.BufferedReader;
import java.io.ByteArrayOutputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Base64;
import java.util.HashMap;
import java.util.HashSet;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.PartitionInfo;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;

/**
 * What Kafka's own consumer sees of topics, for tests that know nothing of the code they judge.
 *
 * Each line of standard input is a request, each line of standard output its answer, until the input ends:
 *
 *   {"deadline_ms": 60000, "reads": [{"bootstrap": "...", "topic": "...", "isolation": "read_committed",
 *    "partitions": [0] or null, "first": 0 or null, "end": 9 or null,
 *    "rows": true, "latest": false, "ignoring": ["timestamp_type"]}, ...]}
 *   {"logs": [{"0": {...}}, ...]} or {"error": "..."}
 *
 * A log is read up to the end that it has when the read begins: the high watermark or, under read_committed,
 * the last stable offset.
 */
public final class ReadLog {
    /** Digests are made for each range of so many offsets, so that a difference is found without reading all rows. */
    static final long BLOCK = 4096;
    static final Duration POLL = Duration.ofMillis(100);

    public static void main(String[] arguments) throws IOException {
        ObjectMapper json = new ObjectMapper();
        BufferedReader input = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = input.readLine(); line != null; line = input.readLine()) {
            Map<String, Object> answer;
            try {
                answer = Map.of("logs", readAll(json.readTree(line)));
            } catch (Exception error) {
                answer = Map.of("error", String.valueOf(error));
            }
            System.out.write(json.writeValueAsBytes(answer));
            System.out.write('\n');
            System.out.flush();
        }
        Runtime.getRuntime().halt(0);
    }

    static List<Map<String, Object>> readAll(JsonNode request) {
        long deadline = System.currentTimeMillis() + request.get("deadline_ms").asLong();
        List<JsonNode> reads = new ArrayList<>();
        request.get("reads").forEach(reads::add);
        return reads.parallelStream().map(read -> readTopic(read, deadline)).toList();
    }

    static Map<String, Object> readTopic(JsonNode read, long deadline) {
        try (KafkaConsumer<byte[], byte[]> consumer = consumerOf(read)) {
            List<TopicPartition> partitions = partitionsOf(consumer, read);
            consumer.assign(partitions);
            Map<TopicPartition, Long> beginnings = consumer.beginningOffsets(partitions);
            Map<TopicPartition, Long> ends = consumer.endOffsets(partitions);
            Map<TopicPartition, PartitionLog> logs = new HashMap<>();
            for (TopicPartition partition : partitions) {
                logs.put(partition, new PartitionLog(read, beginnings.get(partition), ends.get(partition)));
                consumer.seek(partition, logs.get(partition).from);
            }
            consume(consumer, logs, deadline);
            Map<String, Object> answers = new TreeMap<>();
            logs.forEach((partition, log) -> answers.put(String.valueOf(partition.partition()), log.answer()));
            return answers;
        }
    }

    /** The position, and not the last record, tells the end: markers and aborted records take offsets too. */
    static void consume(KafkaConsumer<byte[], byte[]> consumer, Map<TopicPartition, PartitionLog> logs, long deadline) {
        Set<TopicPartition> left = new HashSet<>(logs.keySet());
        dropFinished(consumer, left, logs);
        while (!left.isEmpty()) {
            for (ConsumerRecord<byte[], byte[]> record : consumer.poll(POLL)) {
                logs.get(new TopicPartition(record.topic(), record.partition())).add(record);
            }
            dropFinished(consumer, left, logs);
            if (!left.isEmpty() && System.currentTimeMillis() > deadline) {
                TopicPartition one = left.iterator().next();
                throw new IllegalStateException("not read in time: " + one + " is at " + consumer.position(one)
                    + " of " + logs.get(one).until);
            }
        }
    }

    static void dropFinished(
            KafkaConsumer<byte[], byte[]> consumer, Set<TopicPartition> left, Map<TopicPartition, PartitionLog> logs) {
        List<TopicPartition> finished = left.stream().filter(p -> consumer.position(p) >= logs.get(p).until).toList();
        consumer.pause(finished);
        left.removeAll(finished);
    }

    static KafkaConsumer<byte[], byte[]> consumerOf(JsonNode read) {
        Map<String, Object> settings = Map.of(
            "bootstrap.servers", read.get("bootstrap").asText(),
            "isolation.level", read.get("isolation").asText(),
            "client.id", "read-log",
            "auto.offset.reset", "none",
            "enable.auto.commit", false,
            "allow.auto.create.topics", false,
            "fetch.max.wait.ms", 10,  // closing waits for the fetch that is under way
            "max.poll.records", 20_000,
            "max.partition.fetch.bytes", 4 << 20,
            "enable.metrics.push", false);
        return new KafkaConsumer<>(settings, new ByteArrayDeserializer(), new ByteArrayDeserializer());
    }

    static List<TopicPartition> partitionsOf(KafkaConsumer<byte[], byte[]> consumer, JsonNode read) {
        String topic = read.get("topic").asText();
        List<PartitionInfo> known = consumer.partitionsFor(topic);
        if (known == null || known.isEmpty()) {
            throw new IllegalArgumentException("there is no topic " + topic);
        }
        List<TopicPartition> all = known.stream().map(info -> new TopicPartition(topic, info.partition())).toList();
        List<TopicPartition> wanted = new ArrayList<>();
        read.get("partitions").forEach(partition -> wanted.add(new TopicPartition(topic, partition.asInt())));
        if (!all.containsAll(wanted)) {
            throw new IllegalArgumentException(topic + " has " + all.size() + " partitions, wanted were " + wanted);
        }
        return wanted.isEmpty() ? all : wanted;
    }

    /** What was read of one partition. */
    static final class PartitionLog {
        final long from;
        final long until;
        private final long beginning;
        private final long end;
        private final boolean hasType;
        private final boolean hasTimestamp;
        private final List<Object> rows;
        private final Map<String, Object> latest;
        private final Map<String, String> blocks = new LinkedHashMap<>();
        private final ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        private final DataOutputStream fields = new DataOutputStream(bytes);
        private final MessageDigest blockDigest = sha256();
        private final MessageDigest recordDigest = sha256();
        private long block = -1;
        private long count;
        private long first = -1;
        private long last = -1;

        PartitionLog(JsonNode read, long beginning, long end) {
            this.beginning = beginning;
            this.end = end;
            from = Math.max(beginning, read.get("first").asLong(0));
            until = Math.min(end, read.get("end").asLong(Long.MAX_VALUE));
            Set<String> ignored = new HashSet<>();
            read.get("ignoring").forEach(name -> ignored.add(name.asText()));
            hasType = !ignored.contains("timestamp_type");
            hasTimestamp = !ignored.contains("timestamp");
            rows = read.get("rows").asBoolean() ? new ArrayList<>() : null;
            latest = read.get("latest").asBoolean() ? new LinkedHashMap<>() : null;
        }

        void add(ConsumerRecord<byte[], byte[]> record) {
            if (record.offset() >= until) {
                return;
            }
            if (record.offset() / BLOCK != block) {
                closeBlock();
                block = record.offset() / BLOCK;
            }
            encode(record);
            byte[] encoded = bytes.toByteArray();
            blockDigest.update(encoded);
            if (rows != null) {
                rows.add(row(record));
            }
            if (latest != null && record.key() != null) {
                String hash = HexFormat.of().formatHex(recordDigest.digest(encoded));
                latest.put(
                    Base64.getEncoder().encodeToString(record.key()),
                    List.of(record.offset(), hash, record.value() == null));
            }
            count++;
            first = first < 0 ? record.offset() : first;
            last = record.offset();
        }

        Map<String, Object> answer() {
            closeBlock();
            blocks.forEach((number, digest) ->
                blockDigest.update((number + digest).getBytes(StandardCharsets.US_ASCII)));
            Map<String, Object> answer = new HashMap<>();
            answer.put("beginning", beginning);
            answer.put("end", end);
            answer.put("count", count);
            answer.put("first", count == 0 ? null : first);
            answer.put("last", count == 0 ? null : last);
            answer.put("digest", HexFormat.of().formatHex(blockDigest.digest()));
            answer.put("blocks", blocks);
            answer.put("rows", rows);
            answer.put("latest", latest);
            return answer;
        }

        private void closeBlock() {
            if (block >= 0) {
                blocks.put(String.valueOf(block), HexFormat.of().formatHex(blockDigest.digest()));
                block = -1;
            }
        }

        private void encode(ConsumerRecord<byte[], byte[]> record) {
            try {
                bytes.reset();
                fields.writeLong(record.offset());
                fields.writeLong(hasTimestamp ? record.timestamp() : 0);
                fields.writeByte(hasType ? record.timestampType().id : 0);
                writeBytes(record.key());
                writeBytes(record.value());
                fields.writeInt(record.headers().toArray().length);
                for (Header header : record.headers()) {
                    writeBytes(header.key().getBytes(StandardCharsets.UTF_8));
                    writeBytes(header.value());
                }
            } catch (IOException error) {
                throw new IllegalStateException(error);
            }
        }

        private void writeBytes(byte[] content) throws IOException {
            fields.writeInt(content == null ? -1 : content.length);
            if (content != null) {
                fields.write(content);
            }
        }

        private static List<Object> row(ConsumerRecord<byte[], byte[]> record) {
            List<Object> headers = new ArrayList<>();
            record.headers().forEach(header -> headers.add(nullableList(header.key(), header.value())));
            String type = record.timestampType().name;
            return nullableList(record.offset(), record.timestamp(), type, record.key(), record.value(), headers);
        }

        private static List<Object> nullableList(Object... items) {
            return Arrays.asList(items);
        }

        private static MessageDigest sha256() {
            try {
                return MessageDigest.getInstance("SHA-256");
            } catch (NoSuchAlgorithmException error) {
                throw new IllegalStateException(error);
            }
        }
    }
}
