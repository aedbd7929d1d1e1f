import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.regex.Pattern;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.connect.mirror.MirrorClient;
import org.apache.kafka.connect.mirror.RemoteClusterUtils;

/**
 * What Kafka's own client says of a cluster. Each line of input is a question, answered by a line of JSON:
 *
 *   {"properties": {"bootstrap.servers": "..."}, "aliases": ["a", "b"], "group": "g", "pattern": "g.*", "source": "a"}
 *
 * Offsets are asked for only where there is a `source`: without a checkpoints topic that takes a minute.
 */
public final class AskMirror {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final Duration TIMEOUT = Duration.ofSeconds(20);

    private AskMirror() {}

    public static void main(String[] arguments) throws Exception {
        BufferedReader input = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = input.readLine(); line != null; line = input.readLine()) {
            Map<String, Object> answer;
            try {
                answer = answer(JSON.readTree(line));
            } catch (RuntimeException error) {
                answer = Map.of("error", String.valueOf(error));
            }
            System.out.println(JSON.writeValueAsString(answer));
        }
    }

    private static Map<String, Object> answer(JsonNode question) throws Exception {
        Map<String, Object> properties = new HashMap<>();
        question.get("properties").properties().forEach(entry -> properties.put(entry.getKey(), entry.getValue().asText()));
        Map<String, Object> answer = new HashMap<>();
        try (MirrorClient client = new MirrorClient(properties)) {
            Map<String, Object> hops = new TreeMap<>();
            Map<String, Object> remoteFrom = new TreeMap<>();
            for (JsonNode alias : question.get("aliases")) {
                hops.put(alias.asText(), client.replicationHops(alias.asText()));
                remoteFrom.put(alias.asText(), client.remoteTopics(alias.asText()));
            }
            answer.put("hops", hops);
            answer.put("heartbeat_topics", client.heartbeatTopics());
            answer.put("checkpoint_topics", client.checkpointTopics());
            answer.put("upstream_clusters", client.upstreamClusters());
            answer.put("remote_topics", client.remoteTopics());
            answer.put("remote_topics_from", remoteFrom);
            if (question.has("source")) {
                String source = question.get("source").asText();
                Map<String, Object> groups = new TreeMap<>();
                client.remoteConsumerOffsets(Pattern.compile(question.get("pattern").asText()), source, TIMEOUT)
                    .forEach((group, offsets) -> groups.put(group, rows(offsets)));
                answer.put("matching", groups);
                String group = question.get("group").asText();
                answer.put("offsets", rows(RemoteClusterUtils.translateOffsets(properties, source, group, TIMEOUT)));
            }
        }
        return answer;
    }

    private static List<List<Object>> rows(Map<TopicPartition, OffsetAndMetadata> offsets) {
        return offsets.entrySet().stream()
            .map(entry -> List.<Object>of(
                entry.getKey().topic(), entry.getKey().partition(), entry.getValue().offset(), entry.getValue().metadata()))
            .toList();
    }
}
