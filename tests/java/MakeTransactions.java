import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicLongArray;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/**
 * Many small transactions by several producers, a thread each. The only argument is a JSON object:
 *
 *   {"bootstrap": "...", "topic": "...", "partitions": 4, "transactions": 1000, "producers": 4, "records": 3,
 *    "span": 2, "aborted_share": 0.1, "value_bytes": 100, "seed": 0, "leave_open": false, "id": "..."}
 *
 * A transaction's records go to `span` neighbouring partitions, in one batch a partition; every tenth transaction
 * has a batch a record. Values begin with `committed`, `aborted` or `open`.
 * With `leave_open` one more transaction begins on partition 0 when half of the others are done, and stays open
 * until standard input says `commit` or `abort`; if the input ends, the process does, and the transaction is left
 * to the broker's timeout.
 */
public final class MakeTransactions {
    static final int TIMEOUT_MS = 900_000;  // transaction.max.timeout.ms of a broker, so that an open one stays

    private final JsonNode plan;
    private final String topic;
    private final int partitions;
    private final AtomicLongArray committed;
    private final AtomicLongArray aborted;
    private final List<KafkaProducer<byte[], byte[]>> producers = new ArrayList<>();
    private final List<Random> dice = new ArrayList<>();
    private int committedTransactions;
    private int abortedTransactions;

    MakeTransactions(JsonNode plan) {
        this.plan = plan;
        topic = plan.get("topic").asText();
        partitions = plan.get("partitions").asInt();
        committed = new AtomicLongArray(partitions);
        aborted = new AtomicLongArray(partitions);
    }

    public static void main(String[] arguments) throws Exception {
        ObjectMapper json = new ObjectMapper();
        MakeTransactions maker = new MakeTransactions(json.readTree(arguments[0]));
        try {
            System.out.println(json.writeValueAsString(maker.run()));
        } catch (Exception error) {
            error.printStackTrace();
            Runtime.getRuntime().halt(1);  // producers' threads would go on
        }
        if (maker.plan.get("leave_open").asBoolean()) {
            BufferedReader input = new BufferedReader(new InputStreamReader(System.in));
            String wanted = input.readLine();
            if (wanted != null) {
                KafkaProducer<byte[], byte[]> open = maker.producers.get(maker.producers.size() - 1);
                if (wanted.equals("commit")) {
                    open.commitTransaction();
                } else {
                    open.abortTransaction();
                }
                System.out.println(json.writeValueAsString(Map.of("ended", wanted)));
            }
        }
        System.out.flush();
        Runtime.getRuntime().halt(0);  // closing a producer would abort what is open
    }

    Map<String, Object> run() throws Exception {
        int size = plan.get("producers").asInt();
        boolean leaveOpen = plan.get("leave_open").asBoolean();
        for (int number = 0; number < size + (leaveOpen ? 1 : 0); number++) {
            producers.add(producerOf(number));
            dice.add(new Random(plan.get("seed").asLong() * 1000 + number));
        }
        ExecutorService threads = Executors.newFixedThreadPool(size);
        int total = plan.get("transactions").asInt();
        long began = System.nanoTime();
        work(threads, size, 0, leaveOpen ? total / 2 : total);
        if (leaveOpen) {
            KafkaProducer<byte[], byte[]> open = producers.get(size);
            open.beginTransaction();
            for (int i = 0; i < plan.get("records").asInt(); i++) {
                open.send(new ProducerRecord<>(topic, 0, key(total, i), value("open", dice.get(size))));
            }
            open.flush();
            work(threads, size, total / 2, total);
        }
        double seconds = (System.nanoTime() - began) / 1e9;
        return Map.of(
            "committed", committedTransactions, "aborted", abortedTransactions, "seconds", seconds,
            "committed_records", counts(committed), "aborted_records", counts(aborted));
    }

    /** Transactions `from` (inclusive) to `until`, each producer every size-th of them. */
    private void work(ExecutorService threads, int size, int from, int until) throws Exception {
        List<Future<int[]>> parts = new ArrayList<>();
        for (int number = 0; number < size; number++) {
            int own = number;
            parts.add(threads.submit(() -> {
                int[] ended = new int[2];
                for (int transaction = from + own; transaction < until; transaction += size) {
                    ended[transact(producers.get(own), dice.get(own), transaction) ? 0 : 1]++;
                }
                return ended;
            }));
        }
        for (Future<int[]> part : parts) {
            committedTransactions += part.get()[0];
            abortedTransactions += part.get()[1];
        }
    }

    /** Whether it was committed. */
    private boolean transact(KafkaProducer<byte[], byte[]> producer, Random random, int transaction) throws Exception {
        boolean commit = random.nextDouble() >= plan.get("aborted_share").asDouble();
        int partition = random.nextInt(partitions);
        List<Future<?>> sent = new ArrayList<>();
        producer.beginTransaction();
        for (int i = 0; i < plan.get("records").asInt(); i++) {
            int chosen = (partition + i % plan.get("span").asInt()) % partitions;
            byte[] content = value(commit ? "committed" : "aborted", random);
            sent.add(producer.send(new ProducerRecord<>(topic, chosen, key(transaction, i), content)));
            (commit ? committed : aborted).incrementAndGet(chosen);
            if (transaction % 10 == 0) {
                producer.flush();
            }
        }
        // An abort drops what is not sent yet. A commit does not, but if the sender's thread asked for unsent batches
        // just before the records came, it may end the transaction before they are sent, and the broker refuses that
        // for good (INVALID_TXN_STATE, once in 50,000 on a busy machine).
        producer.flush();
        if (commit) {
            producer.commitTransaction();
        } else {
            producer.abortTransaction();
        }
        for (Future<?> one : sent) {
            one.get();
        }
        return commit;
    }

    private KafkaProducer<byte[], byte[]> producerOf(int number) {
        Map<String, Object> settings = Map.of(
            "bootstrap.servers", plan.get("bootstrap").asText(),
            "transactional.id", plan.get("id").asText() + "-" + number,
            "transaction.timeout.ms", TIMEOUT_MS,
            "linger.ms", 1000,  // until the flush, so that it is one batch a partition
            // A transaction that begins while the last one's markers are written is refused and tried again.
            "retry.backoff.ms", 10,
            "retry.backoff.max.ms", 50,
            "enable.metrics.push", false);
        KafkaProducer<byte[], byte[]> producer =
            new KafkaProducer<>(settings, new ByteArraySerializer(), new ByteArraySerializer());
        producer.initTransactions();
        return producer;
    }

    private byte[] value(String word, Random random) {
        byte[] content = new byte[Math.max(plan.get("value_bytes").asInt(), word.length())];
        random.nextBytes(content);
        System.arraycopy(word.getBytes(), 0, content, 0, word.length());
        return content;
    }

    private static byte[] key(int transaction, int record) {
        return ByteBuffer.allocate(8).putInt(transaction).putInt(record).array();
    }

    private static long[] counts(AtomicLongArray counters) {
        long[] values = new long[counters.length()];
        for (int i = 0; i < values.length; i++) {
            values[i] = counters.get(i);
        }
        return values;
    }
}
