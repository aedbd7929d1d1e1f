import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.IntStream;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/**
 * Traffic at a steady rate by a producer with Kafka's default settings, and a consumer of the other side that measures
 * how long these very records took. Both are in one process, so that they share a clock.
 *
 * Arguments: the source's and the target's addresses. Each line of input is one stretch of traffic:
 *
 *   topic, remote topic, records a second, bytes of a record, seconds, partitions, partitions that are listened to, in turn
 *
 * with blanks between them. `in turn` is `true` where records go to the partitions one after the other, `false` where
 * the producer decides. The answer is a line: `ready` when the consumer stands at the ends, and after the last record
 * `records sent, records heard, median, 99th percentile and worst` in microseconds.
 */
public final class Traffic {
    private static final int HEAD_BYTES = 16; // when it was sent, and in which stretch
    private static final long LATE_NS = 10_000_000_000L;

    private Traffic() {}

    public static void main(String[] arguments) throws Exception {
        BufferedReader input = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        try (KafkaProducer<byte[], byte[]> producer = producer(arguments[0])) {
            for (String line = input.readLine(); line != null; line = input.readLine()) {
                System.out.println(run(producer, arguments[1], Stretch.parse(line)));
            }
        }
    }

    private static String run(KafkaProducer<byte[], byte[]> producer, String target, Stretch stretch) throws Exception {
        long mark = new Random().nextLong();
        Listener listener = new Listener(target, stretch, mark);
        Thread thread = new Thread(listener, "listener");
        thread.start();
        listener.awaitReady();
        System.out.println("ready");
        long[] sent = send(producer, stretch, mark);
        long total = Arrays.stream(sent).sum();
        listener.expect(stretch.inTurn ? Arrays.stream(sent, 0, stretch.listened).sum() : -1);
        thread.join();
        return total + " " + listener.summary();
    }

    /** How many records each partition got; by the producer's choice all count for the first. */
    private static long[] send(KafkaProducer<byte[], byte[]> producer, Stretch stretch, long mark) {
        byte[] filler = new byte[stretch.bytes];
        new Random(stretch.bytes).nextBytes(filler);
        long[] sent = new long[stretch.partitions];
        long began = System.nanoTime();
        long end = began + stretch.seconds * 1_000_000_000L;
        long number = 0;
        for (long now = began; now < end; now = System.nanoTime()) {
            long due = (now - began) * stretch.perSecond / 1_000_000_000L;
            for (; number < due; number++) {
                int partition = stretch.inTurn ? (int) (number % stretch.partitions) : 0;
                byte[] value = filler.clone();
                ByteBuffer.wrap(value).putLong(System.nanoTime()).putLong(mark);
                producer.send(new ProducerRecord<>(stretch.topic, stretch.inTurn ? partition : null, null, value));
                sent[partition]++;
            }
            LockSupport.parkNanos(500_000);
        }
        producer.flush();
        return sent;
    }

    private static KafkaProducer<byte[], byte[]> producer(String servers) {
        return new KafkaProducer<>(
                Map.of("bootstrap.servers", servers), new ByteArraySerializer(), new ByteArraySerializer());
    }

    private record Stretch(
            String topic, String remote, long perSecond, int bytes, long seconds, int partitions, int listened, boolean inTurn) {
        static Stretch parse(String line) {
            String[] words = line.trim().split(" +");
            return new Stretch(
                    words[0],
                    words[1],
                    Long.parseLong(words[2]),
                    Math.max(HEAD_BYTES, Integer.parseInt(words[3])),
                    Long.parseLong(words[4]),
                    Integer.parseInt(words[5]),
                    Integer.parseInt(words[6]),
                    Boolean.parseBoolean(words[7]));
        }
    }

    /** Reads some partitions of the remote topic from their present ends on. */
    private static final class Listener implements Runnable {
        private final String servers;
        private final Stretch stretch;
        private final long mark;
        private boolean isReady; // guarded by this
        private long expected = Long.MAX_VALUE; // guarded by this; -1: nothing comes for a while
        private long[] took = new long[1 << 16];
        private int heard;

        Listener(String servers, Stretch stretch, long mark) {
            this.servers = servers;
            this.stretch = stretch;
            this.mark = mark;
        }

        synchronized void awaitReady() throws InterruptedException {
            while (!isReady) {
                wait();
            }
        }

        private synchronized void setReady() {
            isReady = true;
            notifyAll();
        }

        synchronized void expect(long records) {
            expected = records;
        }

        private synchronized long expected() {
            return expected;
        }

        @Override
        public void run() {
            Map<String, Object> settings = new HashMap<>();
            settings.put("bootstrap.servers", servers);
            settings.put("enable.auto.commit", "false");
            try (KafkaConsumer<byte[], byte[]> consumer =
                    new KafkaConsumer<>(settings, new ByteArrayDeserializer(), new ByteArrayDeserializer())) {
                List<TopicPartition> partitions = IntStream.range(0, stretch.listened)
                        .mapToObj(number -> new TopicPartition(stretch.remote, number))
                        .toList();
                consumer.assign(partitions);
                consumer.seekToEnd(partitions);
                partitions.forEach(consumer::position);
                setReady();
                listen(consumer);
            }
        }

        private void listen(KafkaConsumer<byte[], byte[]> consumer) {
            long last = 0; // when something came behind the last record that was sent
            while (true) {
                long wanted = expected();
                boolean isOver = wanted != Long.MAX_VALUE;
                if (isOver && last == 0) {
                    last = System.nanoTime();
                }
                long quiet = wanted == -1 ? 500_000_000L : LATE_NS;
                if (isOver && (heard >= wanted && wanted >= 0 || System.nanoTime() - last > quiet)) {
                    return;
                }
                var records = consumer.poll(Duration.ofMillis(100));
                long now = System.nanoTime();
                for (ConsumerRecord<byte[], byte[]> found : records) {
                    note(found.value(), now);
                }
                if (isOver && !records.isEmpty()) {
                    last = now;
                }
            }
        }

        private void note(byte[] value, long now) {
            ByteBuffer head = ByteBuffer.wrap(value);
            long sentAt = head.getLong();
            if (head.getLong() != mark) {
                return;
            }
            if (heard == took.length) {
                took = Arrays.copyOf(took, 2 * heard);
            }
            took[heard++] = now - sentAt;
        }

        String summary() {
            long[] sorted = Arrays.copyOf(took, heard);
            Arrays.sort(sorted);
            return heard + " " + rank(sorted, 0.5) + " " + rank(sorted, 0.99) + " " + rank(sorted, 1);
        }

        private static long rank(long[] sorted, double share) {
            return sorted.length == 0 ? -1 : sorted[Math.max(1, (int) Math.ceil(share * sorted.length)) - 1] / 1000;
        }
    }
}
